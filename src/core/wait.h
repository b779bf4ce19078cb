/* The wait loop.  All with the queue's lock held. */
#ifndef XP_CORE_WAIT_H
#define XP_CORE_WAIT_H

#include "core/enter.h"
#include "os/sys.h"

/*
 * Fill the wait's array or batch; sleep until there is something, until the
 * deadline, or until woken.  wait->len says how much; -EINTR, -EBADF.  The
 * lock is released while it sleeps, which is a cancellation point.
 */
int xp_wait_run(struct xpoll *queue, struct xp_wait *wait);

/* After it.  A signal that was held back is handled now, without the lock. */
static inline void xp_wait_leave(struct xpoll *queue, const struct xp_wait *wait)
{
	xp_leave(queue);
	if (XP_UNLIKELY(wait->holds))
		xp_sys_signals_release(wait->held);
}

#endif
