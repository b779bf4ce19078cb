/* The wait loop.  All with the queue's lock held. */
#ifndef XP_CORE_WAIT_H
#define XP_CORE_WAIT_H

#include "core/queue.h"

/*
 * Fill the wait's array or batch; sleep until there is something, until the
 * deadline, or until woken.  wait->len tells how much; -EINTR, -EBADF.  The
 * lock is released while it sleeps, which is a cancellation point.
 */
int xp_wait_run(struct xpoll *queue, struct xp_wait *wait);

#endif
