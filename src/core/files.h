/*
 * Files that the kernel cannot poll: regular files, directories, some devices.
 *
 * poll(2) and the poll-like level (xpoll_pwait, xpoll_wait) report them as always ready.  At the
 * event level (xpoll_event) READ of a regular file is ready unless its offset equals its size.
 *
 * Each wait checks the files that are awake, which are in the list files.awake.  A file that is not
 * ready goes to sleep, to the list files.asleep, until its growth is reported.  No kernel reports
 * that an offset was moved, so each wait also checks some of the sleeping files.
 */
#ifndef XP_CORE_FILES_H
#define XP_CORE_FILES_H

#include "core/queue.h"

/*
 * Record fd as a file that the kernel cannot poll.  follows: watch the growth of the file, after
 * which READ may be ready again.  Returns 0, -EBADF, -ENOMEM ...
 */
int xp_file_add(struct xpoll *queue, int fd, bool follows);
/*
 * Apply another ADD to a recorded file.  Returns 0; -EBADF, -ENOENT: the descriptor was closed or
 * reused; or the error of watching the file's growth.
 */
int xp_file_add_again(struct xpoll *queue, int fd, unsigned filters, bool follows);
void xp_file_remove(struct xpoll *queue, int fd);
/*
 * Returns 0 if fd still refers to the recorded file; -EBADF: fd was closed; -ENOENT: fd was reused
 * for another file.  Returns 0 also if fstat(2) fails in another way than with EBADF.
 */
int xp_file_confirm(struct xpoll *queue, int fd);
/* Make the next wait check these filters of the file, even those with CLEAR that were delivered. */
void xp_file_schedule_check(struct xpoll *queue, int fd, unsigned filters);

/* Returns the number of bytes from the file's offset to its end, perhaps negative; 1 if unknown. */
int64_t xp_file_left(struct xpoll *queue, int fd);

/* Returns true if the next wait has files to check. */
static inline bool xp_has_files(const struct xpoll *queue)
{
	return XP_UNLIKELY(queue->files.at_len > 0) &&
		(!xp_list_empty(&queue->files.awake) || !xp_list_empty(&queue->files.asleep));
}

/*
 * Begin a pass over the files: xp_files_next then checks those in files.awake, which may be ready,
 * and XP_ASK_EVERY of those in files.asleep, which were not ready at their last check.  poll_level:
 * the wait is xpoll_pwait or xpoll_wait, which report files as always ready: check all files.
 */
void xp_files_begin(struct xpoll *queue, bool poll_level);
/*
 * Check the next file of the pass.  Stores its descriptor, and in *events its bits of poll(2); 0:
 * the file is not ready; -EBADF, -ENOENT: the descriptor was closed or reused.  Returns false if
 * the pass is over.
 */
bool xp_files_next(struct xpoll *queue, bool poll_level, int *fd, int *events);
/*
 * Returns true if one of the files in files.awake is ready for an enabled filter; then xpoll_fd has
 * to be readable.
 */
bool xp_files_ready(struct xpoll *queue);

/*
 * In a forked child: watch the file's growth, if the parent did, through a kernel object of the
 * child, and make the next wait check the file.
 */
int xp_file_inherit(struct xpoll *queue, int fd);
/* Call xp_files_fini after xp_sources_fini, which still accesses the watches in struct xp_file. */
void xp_files_init(struct xpoll *queue);
void xp_files_fini(struct xpoll *queue);

#endif
