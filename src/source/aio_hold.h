/*
 * Files that operations hold open, so that a program may close the descriptor that it passed, and
 * reuse it for another file, while the operation is in progress.
 *
 * A duplicate of the descriptor holds the file: one for all operations in progress that were given
 * the same descriptor for the same file, opened with the same flags.  Functions are called with the
 * workers' lock, unless their comment says otherwise.
 */
#ifndef XP_SOURCE_AIO_HOLD_H
#define XP_SOURCE_AIO_HOLD_H

#include "sys/sys_aio.h"

struct xp_aio_hold;

/*
 * A quick test, without the workers' lock, before xp_aio_hold_lookup_id.  Returns false if the
 * library holds no file open for operations that were given the descriptor fd; true: perhaps it
 * does.
 */
bool xp_aio_hold_may_exist(int fd);
/*
 * Returns true if fd refers to a file that is held for operations on fd, and stores the file's
 * identity.  Returns false also if the system cannot show whether a descriptor is a duplicate of
 * fd.
 */
bool xp_aio_hold_lookup_id(int fd, struct xp_file_id *id);
/*
 * Hold the file that fd refers to.  Returns the descriptor to use for the operation: the duplicate;
 * or fd, and *hold is NULL, if a duplicate could harm record locks of the program
 * (xp_sys_file_hold).  -EMFILE, -ENFILE, -ENOMEM.
 */
int xp_aio_hold(int fd, const struct xp_file_id *id, struct xp_aio_hold **hold);
/*
 * Release a file after an operation; harmless if hold is NULL.  If no other operation uses the
 * file, it is added to the list *unused, NULL at first, which the caller passes to
 * xp_aio_hold_close.
 */
void xp_aio_hold_drop(struct xp_aio_hold *hold, struct xp_aio_hold **unused);
/*
 * Close a list of unused files, and files that an earlier call could not close.  Called without the
 * lock, because close(2) of a file on a network may wait for the server.
 */
void xp_aio_hold_close(struct xp_aio_hold *unused);
/*
 * Initialise in a new process, which may have inherited files that its parent held.  Called without
 * the lock, which no other thread uses yet.
 */
void xp_aio_hold_init_process(void);
/* In a forked child: close the duplicates that the parent held.  Called without the lock. */
void xp_aio_hold_close_forked(void);

#endif
