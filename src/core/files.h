/*
 * Files that the kernel cannot poll: regular files, directories, some devices.
 *
 * poll(2) and the poll-like level report them as always ready.  At the event level READ of a
 * regular file is ready unless its offset equals its size.
 *
 * Each wait checks the files that are awake.  A file that is not ready goes to sleep until its
 * growth is reported.  No kernel reports that an offset was moved, so each wait also checks some of
 * the sleeping files.
 */
#ifndef XP_CORE_FILES_H
#define XP_CORE_FILES_H

#include "core/queue.h"

/* Record fd as such a file.  follows: watch its growth.  Returns 0, -EBADF, -ENOMEM ... */
int xp_file_add(struct xpoll *queue, int fd, bool follows);
/* Another ADD of a recorded file; -EBADF, -ENOENT: the descriptor was closed or reused. */
int xp_file_add_again(struct xpoll *queue, int fd, unsigned filters, bool follows);
void xp_file_remove(struct xpoll *queue, int fd);
/* Returns 0 if fd still refers to the recorded file; -EBADF, -ENOENT: it was closed or reused. */
int xp_file_confirm(struct xpoll *queue, int fd);
/* Make the next wait check these filters, even those with CLEAR. */
void xp_file_ask(struct xpoll *queue, int fd, unsigned filters);

/* Returns the number of bytes from the offset to the end, perhaps negative; 1 if it is unknown. */
int64_t xp_file_left(struct xpoll *queue, int fd);

/* Returns true if the next wait has files to check. */
static inline bool xp_has_files(const struct xpoll *queue)
{
	return XP_UNLIKELY(queue->files.at_len > 0) &&
		(!xp_list_empty(&queue->files.awake) || !xp_list_empty(&queue->files.asleep));
}

/* Begin a pass over the files that are awake and some that sleep. */
void xp_files_begin(struct xpoll *queue, bool poll_level);
/*
 * Check the next file of this pass.  Stores its descriptor and its bits of poll(2); 0: not ready;
 * -EBADF, -ENOENT: closed or reused.  Returns false if the pass is over.
 */
bool xp_files_next(struct xpoll *queue, bool poll_level, int *fd, int *events);
/* Returns true if a file that is awake is ready. */
bool xp_files_ready(struct xpoll *queue);

/* In a forked child: watch the growth through a kernel object of the child. */
int xp_file_inherit(struct xpoll *queue, int fd);
/* xp_files_fini must be called after the sources have ended. */
void xp_files_init(struct xpoll *queue);
void xp_files_fini(struct xpoll *queue);

#endif
