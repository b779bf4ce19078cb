/*
 * Files that operations hold open, so that a program may close the descriptor that it passed, and
 * reuse it for another file.
 *
 * A duplicate of the descriptor holds the file: one for all operations in progress that were given
 * the same descriptor for the same file.  All functions without another remark are called with the
 * lock of the workers.
 */
#ifndef XP_SOURCE_AIO_HOLD_H
#define XP_SOURCE_AIO_HOLD_H

#include "sys/sys_aio.h"

struct xp_aio_hold;

/*
 * Returns true if a file may be held that was passed by this descriptor.  Called without the lock.
 */
bool xp_aio_hold_may(int fd);
/* Returns true if fd refers to a held file, and stores the file's identity. */
bool xp_aio_hold_knows(int fd, struct xp_file_id *id);
/*
 * Hold the file that fd refers to.  Returns the descriptor to use: fd, with *hold NULL, if the file
 * cannot be held without harm (xp_sys_file_hold).  -EMFILE, -ENFILE, -ENOMEM.
 */
int xp_aio_hold(int fd, const struct xp_file_id *id, struct xp_aio_hold **hold);
/*
 * Release a file after an operation.  After the last one the file is added to *unused, initially
 * NULL, for xp_aio_hold_close.
 */
void xp_aio_hold_drop(struct xp_aio_hold *hold, struct xp_aio_hold **unused);
/* Close unused files.  Called without the lock, because a close may wait for a server. */
void xp_aio_hold_close(struct xp_aio_hold *unused);
/* Initialise in a new process, which may have inherited files that its parent held. */
void xp_aio_hold_begin(void);
/* In a forked child: close those files.  Called without the lock. */
void xp_aio_hold_abandon(void);

#endif
