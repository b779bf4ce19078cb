/* Leaving a queue, and sleeping in it. */
#ifndef XP_CORE_SLEEP_H
#define XP_CORE_SLEEP_H

#include "base/result.h"
#include "core/queue.h"

/*
 * Release the lock, with the result of the call: -1 and errno if it is negative.  Threads that
 * sleep do not miss what this one leaves behind.
 */
int xp_leave_to_others(struct xpoll *queue, int rc);
static inline int xp_leave_with(struct xpoll *queue, int rc)
{
	if (XP_UNLIKELY(queue->lock.held || queue->outer.exposed || rc < 0))
		return xp_leave_to_others(queue, rc);
	xp_mutex_unlock_alone(&queue->lock);
	return rc;
}

static inline void xp_leave(struct xpoll *queue)
{
	(void)xp_leave_with(queue, 0);
}

/*
 * Ask the kernel, and sleep until it has something, until the deadline, or until a source
 * wants to run.  The lock is released meanwhile, and it is a cancellation point.  Returns
 * the number of reports, or a negative errno value.
 */
int xp_sleep(struct xpoll *queue, struct xp_wait *wait, struct xp_fired *fired, int cap);
/* The same without sleeping.  rest: the last time there was more. */
int xp_look(struct xpoll *queue, struct xp_wait *wait, struct xp_fired *fired, int cap, bool rest);

#endif
