/* Leaving a queue, and sleeping in it. */
#ifndef XP_CORE_SLEEP_H
#define XP_CORE_SLEEP_H

#include "base/result.h"
#include "core/ask.h"
#include "core/due.h"
#include "core/late.h"
#include "core/outer.h"
#include "core/threads.h"

/*
 * Release the lock, with the result of the call: -1 and errno if it is negative.  Threads that
 * sleep do not miss what this one leaves behind.
 */
int xp_leave_to_others(struct xpoll *queue, int rc);
static inline int xp_leave_with(struct xpoll *queue, int rc)
{
	if (XP_UNLIKELY(!xp_entered_alone(queue) || queue->outer.exposed || rc < 0))
		return xp_leave_to_others(queue, rc);
	xp_unlock_alone(queue);
	return rc;
}

static inline void xp_leave(struct xpoll *queue)
{
	(void)xp_leave_with(queue, 0);
}

/*
 * Release the lock with the result of the call, and make the late change, if there is one.
 * Returns that result, or -1 and errno.
 */
int xp_leave_and_make(struct xpoll *queue, int rc, const struct xp_late *late);
static inline int xp_leave_late(struct xpoll *queue, int rc, const struct xp_late *late)
{
	return XP_UNLIKELY(late->slot != NULL) ? xp_leave_and_make(queue, rc, late)
		: xp_leave_with(queue, rc);
}

/*
 * The thread is about to sleep until *until_ns, which becomes earlier if it sleeps for a source.
 * Returns the number of the timer waiter that it is then.
 */
uint32_t xp_sleep_prepare(struct xpoll *queue, struct xp_wait *wait, int64_t *until_ns);
static XP_INLINE uint32_t xp_sleep_begin(struct xpoll *queue, struct xp_wait *wait,
                                         int64_t *until_ns)
{
	uint32_t timer = 0;

	if (XP_UNLIKELY(wait->slept || queue->holding > 0 || xp_wait_mask(wait) ||
	                xp_timer_waiter_missing(queue) || !xp_is_concurrent(queue)))
		timer = xp_sleep_prepare(queue, wait, until_ns);
	else
		wait->slept = true;
	xp_ask_begins(queue, wait);
	if (XP_UNLIKELY(queue->outer.exposed))
		xp_outer_update(queue);
	xp_idle_begin(queue);
	return timer;
}

/* The thread is back from the kernel, with the lock. */
static inline void xp_sleep_end(struct xpoll *queue, uint32_t timer)
{
	xp_idle_end(queue);
	xp_timer_waiter_answered(queue);
	xp_timer_waiter_end(queue, timer);
}

/*
 * Sleep beside other threads until the kernel has something, or until the time.  The lock is
 * released meanwhile, and it is a cancellation point.  Returns as the back end's wait.
 */
int xp_sleep_beside(struct xpoll *queue, struct xp_wait *wait, int64_t until_ns,
                    struct xp_fired *fired, int cap);

#endif
