/*
 * The timer waiter: of the threads that sleep, the one that comes out when a
 * source's moment (due_ns) has come.
 *
 * until_ns is the moment that a sleeper comes out at; XP_NEVER: nobody does;
 * XP_NOW: a sleeper was woken and will check all moments.  A moment that was put
 * off does not wake its timer waiter, which comes out once in vain: timeouts that
 * are put off all the time must not wake anybody.
 *
 * All with the queue's lock held.
 */
#ifndef XP_CORE_TIMER_WAITER_H
#define XP_CORE_TIMER_WAITER_H

#include "base/assert.h"
#include "base/time.h"
#include "core/queue.h"

/* Is there a moment that no sleeper comes out for? */
static inline bool xp_timer_waiter_missing(const struct xpoll *queue)
{
	return queue->due_ns < queue->timer.until_ns;
}

/*
 * A thread is about to sleep until *deadline_ns: it becomes the timer waiter if
 * there is none.  The result is for xp_timer_waiter_end.
 */
static inline uint32_t xp_timer_waiter_begin(struct xpoll *queue,
                                             int64_t *deadline_ns)
{
	if (XP_LIKELY(!xp_timer_waiter_missing(queue)))
		return 0;
	if (queue->due_ns < *deadline_ns)
		*deadline_ns = queue->due_ns;
	if (++queue->timer.waiters == 0)
		queue->timer.waiters = 1;
	queue->timer.waiter = queue->timer.waiters;
	queue->timer.until_ns = queue->due_ns;
	return queue->timer.waiter;
}

static inline void xp_timer_waiter_end(struct xpoll *queue, uint32_t timer_waiter)
{
	if (timer_waiter && queue->timer.waiter == timer_waiter) {
		queue->timer.waiter = 0;
		queue->timer.until_ns = XP_NEVER;
	}
}

/* A sleeper was called; until one has come out nobody else need be. */
static inline void xp_timer_waiter_called(struct xpoll *queue)
{
	XP_ASSERT(queue->threads.waiters > 0);
	queue->timer.waiter = 0;
	queue->timer.until_ns = XP_NOW;
}

/* This thread has come out of the kernel, or may have taken the call. */
static inline void xp_timer_waiter_answered(struct xpoll *queue)
{
	if (XP_UNLIKELY(queue->timer.until_ns == XP_NOW))
		queue->timer.until_ns = XP_NEVER;
}

#endif
