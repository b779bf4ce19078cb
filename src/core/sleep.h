/* How a call leaves a queue, and how a wait sleeps. */
#ifndef XP_CORE_SLEEP_H
#define XP_CORE_SLEEP_H

#include "base/result.h"
#include "core/ask.h"
#include "core/due.h"
#include "core/outer.h"
#include "core/slot.h"
#include "core/threads.h"

/*
 * Have sleeping threads woken for events that this call leaves behind, and release the lock.
 * Returns rc, or -1 and errno if rc is negative.  xp_leave_with does the same, quickly if there is
 * no other thread.
 */
int xp_leave_to_others(struct xpoll *queue, int rc);
static inline int xp_leave_with(struct xpoll *queue, int rc)
{
	if (XP_UNLIKELY(!xp_entered_alone(queue) || queue->outer.in_use || rc < 0))
		return xp_leave_to_others(queue, rc);
	xp_unlock_alone(queue);
	return rc;
}

static inline void xp_leave(struct xpoll *queue)
{
	(void)xp_leave_with(queue, 0);
}

/*
 * Release the lock like xp_leave_with, and then make the late change, the change of a kernel entry
 * that was left for this moment because it may wake a thread that needs the lock.  xp_leave_late
 * calls this only if there is such a change.  Returns rc, or -1 and errno if rc is negative or the
 * change fails.
 */
int xp_leave_and_make(struct xpoll *queue, int rc, const struct xp_late *late);
static inline int xp_leave_late(struct xpoll *queue, int rc, const struct xp_late *late)
{
	return XP_UNLIKELY(late->slot != NULL) ? xp_leave_and_make(queue, rc, late)
		: xp_leave_with(queue, rc);
}

/*
 * Prepare a sleep until *until_ns, and block signals if necessary.  If this thread becomes the
 * timer waiter, the one that returns when a source is due, *until_ns becomes that time, if it is
 * earlier.  If the thread has to poll once without sleeping first, *until_ns becomes
 * XP_NOW_UNLOCKED.  Returns the thread's number as timer waiter, or 0.
 *
 * xp_sleep_begin calls xp_sleep_prepare if there may be something to do, counts the call into the
 * kernel, updates the descriptor of xpoll_fd, and begins to measure the sleep.
 */
uint32_t xp_sleep_prepare(struct xpoll *queue, struct xp_wait *wait, int64_t *until_ns);
static XP_INLINE uint32_t xp_sleep_begin(struct xpoll *queue, struct xp_wait *wait,
                                         int64_t *until_ns)
{
	uint32_t timer = 0;

	if (XP_UNLIKELY(wait->slept_before || queue->hold_waits > 0 || xp_wait_mask(wait) ||
	                xp_timer_waiter_missing(queue) || !xp_backend_is_concurrent(queue)))
		timer = xp_sleep_prepare(queue, wait, until_ns);
	else
		wait->slept_before = true;
	xp_kernel_call_begin(queue, wait);
	if (XP_UNLIKELY(queue->outer.in_use))
		xp_outer_update(queue);
	xp_idle_begin(queue);
	return timer;
}

/* Call after the sleep, with the lock held.  timer: the number that xp_sleep_begin returned. */
static inline void xp_sleep_end(struct xpoll *queue, uint32_t timer)
{
	xp_idle_end(queue);
	xp_timer_wakeup_clear(queue);
	xp_timer_waiter_end(queue, timer);
}

/*
 * Sleep in the back end with the lock released, so that other threads can use the queue.  This is a
 * cancellation point.  Takes the lock again, and returns the result of the back end's wait.
 */
int xp_sleep_shared(struct xpoll *queue, struct xp_wait *wait, int64_t until_ns,
                    struct xp_fired *fired, int cap);

#endif
