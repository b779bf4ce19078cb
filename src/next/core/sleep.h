/* Leaving a queue, and sleeping in it. */
#ifndef XP_CORE_SLEEP_H
#define XP_CORE_SLEEP_H

#include "base/result.h"
#include "core/queue.h"

/* Release the lock.  Threads that sleep do not miss what this one leaves behind. */
void xp_leave_to_others(struct xpoll *queue);
static inline void xp_leave(struct xpoll *queue)
{
	if (XP_UNLIKELY(queue->threads.waiters > 0 || queue->outer.exposed || queue->kick.due ||
	                queue->turn.due))
		xp_leave_to_others(queue);
	else
		xp_mutex_unlock(&queue->lock);
}

/* The same, with the result of the call: -1 and errno if it is negative. */
static inline int xp_leave_with(struct xpoll *queue, int rc)
{
	xp_leave(queue);
	return xp_result(rc);
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
