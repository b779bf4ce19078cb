/*
 * Files that the kernel refuses to wait for: regular files, directories, some devices.
 * poll(2) calls them always ready, and so does the poll-like level.  At the event level
 * READ of a regular file is ready unless its offset is its size.
 *
 * A file that is awake is checked by each wait until it is not ready.  Then it sleeps until
 * its growth is reported.  Nobody reports that an offset was moved, so each wait also
 * checks some of those that sleep.
 */
#ifndef XP_CORE_FILES_H
#define XP_CORE_FILES_H

#include "core/queue.h"

/* Note fd as such a file; its growth is watched if follows; -EBADF, -ENOMEM ... */
int xp_file_add(struct xpoll *queue, int fd, bool follows);
/* Another ADD; -EBADF, -ENOENT: fd is another file. */
int xp_file_add_again(struct xpoll *queue, int fd, unsigned filters, bool follows);
void xp_file_remove(struct xpoll *queue, int fd);
/* 0 if fd is still the file that was added; -EBADF, -ENOENT. */
int xp_file_confirm(struct xpoll *queue, int fd);
/* The next wait checks these filters, also those with CLEAR. */
void xp_file_ask(struct xpoll *queue, int fd, unsigned filters);

/* The bytes from the offset to the end, which may be negative; 1: not known. */
int64_t xp_file_left(struct xpoll *queue, int fd);

/* Returns true if there are any. */
static inline bool xp_files_any(const struct xpoll *queue)
{
	return XP_UNLIKELY(queue->files.at_len > 0) &&
		(!xp_list_empty(&queue->files.awake) || !xp_list_empty(&queue->files.asleep));
}

/* A pass over the files that are awake, and over some that sleep, begins. */
void xp_files_begin(struct xpoll *queue, bool poll_level);
/*
 * Check the next file of this pass.  Stores its bits; 0: not ready; -EBADF, -ENOENT: another
 * file.  Returns false if all were checked.
 */
bool xp_files_next(struct xpoll *queue, bool poll_level, int *fd, int *events);
/* Returns true if a file that is awake is ready. */
bool xp_files_ready(struct xpoll *queue);

/* In a forked child: watch the growth by a kernel object of the child's. */
int xp_file_inherit(struct xpoll *queue, int fd);
/* After the sources have ended. */
void xp_files_init(struct xpoll *queue);
void xp_files_fini(struct xpoll *queue);

#endif
