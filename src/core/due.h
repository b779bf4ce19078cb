/* The times at which the queue has to call its sources, and the thread that sleeps until then. */
#ifndef XP_CORE_DUE_H
#define XP_CORE_DUE_H

#include "core/queue.h"

/* Returns the time (monotonic clock) at which to call the source, XP_ON_DEMAND or XP_NEVER. */
static inline int64_t xp_due_of(const struct xpoll *queue, enum xp_source_id id)
{
	return queue->sources[id].due_ns;
}

/* Returns the earliest time at which some source has to be called, XP_ON_DEMAND or XP_NEVER. */
static inline int64_t xp_due(const struct xpoll *queue)
{
	return queue->due_ns;
}

/*
 * Set the time at which the source has to be called.  If no sleeping thread returns by the earliest
 * due time of all sources, record that a sleeping thread has to be woken (xp_kick_request).
 */
void xp_due_set(struct xpoll *queue, enum xp_source_id id, int64_t deadline_ns);

/*
 * Returns true if no sleeping thread returns by the earliest due time.
 *
 * The timer waiter is the one sleeping thread that sleeps no longer than until timer.until_ns; the
 * other threads may sleep for ever.  A due time that becomes later does not wake the timer waiter.
 * until_ns is XP_NEVER without a timer waiter, and XP_NOW if a thread was woken to become one.
 */
static inline bool xp_timer_waiter_missing(const struct xpoll *queue)
{
	return queue->due_ns < queue->timer.until_ns;
}

/*
 * Make the calling thread the timer waiter, if no thread sleeps only until the earliest due time of
 * a source: *deadline_ns becomes that time, if it is earlier.  Returns a number for
 * xp_timer_waiter_end, or 0 if the thread has not become the timer waiter.
 */
uint32_t xp_timer_waiter_begin(struct xpoll *queue, int64_t *deadline_ns);
/*
 * Call after the sleep, with the number that xp_timer_waiter_begin returned: this thread is no
 * longer the timer waiter, which returns when a source is due.
 */
void xp_timer_waiter_end(struct xpoll *queue, uint32_t waiter);
/*
 * Call when a sleeping thread was woken to become the timer waiter, which sleeps only until a
 * source is due: until a thread has returned from the kernel, xp_timer_waiter_missing is false, so
 * no other thread is woken.
 */
void xp_timer_wakeup_sent(struct xpoll *queue);
/*
 * Call when a thread has returned from the kernel.  This may be the thread that was woken to become
 * the timer waiter, which sleeps only until a source is due.  So that wake-up counts no longer:
 * until some thread is the timer waiter, xp_timer_waiter_missing is true again.
 */
void xp_timer_wakeup_clear(struct xpoll *queue);
/*
 * Record that no thread is the timer waiter, which sleeps only until a source is due: its sleep has
 * ended, or, in a forked child, it was a thread of the parent.
 */
void xp_timer_waiter_forget(struct xpoll *queue);

#endif
