/*
 * Files that operations hold open, so that a program may close the descriptor
 * that it gave them, and its number may become another file's.
 *
 * A descriptor of the library's own holds the file: one for all operations in
 * flight that gave the same number for the same file.  All functions are called
 * with the lock of the work, unless they say otherwise.
 */
#ifndef XP_SOURCE_AIO_HOLD_H
#define XP_SOURCE_AIO_HOLD_H

#include "sys/sys_aio.h"

struct xp_aio_hold;

/* Without the lock: may a file be held that was given by this number? */
bool xp_aio_hold_may(int fd);
/* Is fd of a file that is held?  Then *id is that file's, as far as it is known. */
bool xp_aio_hold_knows(int fd, struct xp_file_id *id);
/*
 * Hold the file that fd is open for: the descriptor to use.  It is fd, and *hold is NULL, if
 * the file cannot be held without harm (xp_sys_file_hold).  -EMFILE, -ENFILE, -ENOMEM.
 */
int xp_aio_hold(int fd, const struct xp_file_id *id, struct xp_aio_hold **hold);
/*
 * An operation has ended.  With the last one the file is added to *unused,
 * which begins as NULL, for xp_aio_hold_close.
 */
void xp_aio_hold_drop(struct xp_aio_hold *hold, struct xp_aio_hold **unused);
/* Without the lock, as a close may wait for a server. */
void xp_aio_hold_close(struct xp_aio_hold *unused);
/* A process begins, which may have inherited copies of what its parent held. */
void xp_aio_hold_begin(void);
/* In a forked child, without the lock: close those copies. */
void xp_aio_hold_abandon(void);

#endif
