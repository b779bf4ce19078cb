/* The times at which the queue has to call sources, and the thread that sleeps until then. */
#ifndef XP_CORE_DUE_H
#define XP_CORE_DUE_H

#include "core/queue.h"

/* Returns the time at which the source has to be called, XP_ON_DEMAND or XP_NEVER. */
static inline int64_t xp_due_of(const struct xpoll *queue, enum xp_source_id id)
{
	return queue->sources[id].due_ns;
}

/* Returns the earliest such time of all sources. */
static inline int64_t xp_due(const struct xpoll *queue)
{
	return queue->due_ns;
}

void xp_due_set(struct xpoll *queue, enum xp_source_id id, int64_t deadline_ns);

/*
 * Returns true if no sleeping thread returns by the earliest due time.
 *
 * The timer waiter is the one sleeping thread that sleeps no longer than until timer.until_ns; the
 * others may sleep for ever.  A due time that becomes later does not wake it.  until_ns is XP_NEVER
 * without a timer waiter, and XP_NOW if a thread was woken that becomes one.
 */
static inline bool xp_timer_waiter_missing(const struct xpoll *queue)
{
	return queue->due_ns < queue->timer.until_ns;
}

/*
 * Make the calling thread the timer waiter if there is none: *deadline_ns becomes the due time, if
 * that is earlier.  Returns its number, or 0 if another thread is the timer waiter.
 */
uint32_t xp_timer_waiter_begin(struct xpoll *queue, int64_t *deadline_ns);
/* Call after that sleep, with the number that xp_timer_waiter_begin returned. */
void xp_timer_waiter_end(struct xpoll *queue, uint32_t waiter);
/* A sleeping thread was woken to become the timer waiter: wake no other until one has returned. */
void xp_timer_waiter_woken(struct xpoll *queue);
/* A thread returned from the kernel, perhaps because of that wake-up. */
void xp_timer_waiter_arrived(struct xpoll *queue);
/* Forget the timer waiter; in a forked child it was a thread of the parent. */
void xp_timer_waiter_forget(struct xpoll *queue);

#endif
