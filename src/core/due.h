/* The times at which sources want to run. */
#ifndef XP_CORE_DUE_H
#define XP_CORE_DUE_H

#include "core/queue.h"

/* When this source wants to run: a time, XP_ON_DEMAND or XP_NEVER. */
static inline int64_t xp_due_of(const struct xpoll *queue, enum xp_source_id id)
{
	return queue->sources[id].due_ns;
}

/* The earliest of these times. */
static inline int64_t xp_due(const struct xpoll *queue)
{
	return queue->due_ns;
}

void xp_due_set(struct xpoll *queue, enum xp_source_id id, int64_t deadline_ns);

/*
 * The timer waiter is the one of the sleeping threads that sleeps no longer than until
 * due_ns.  A time that is put off does not wake it.  timer.until_ns is XP_NEVER if there
 * is none, and XP_NOW if a thread was woken to become it.
 */
static inline bool xp_timer_waiter_missing(const struct xpoll *queue)
{
	return queue->due_ns < queue->timer.until_ns;
}

/* A thread that sleeps until *deadline_ns becomes it if there is none; 0: it does not. */
uint32_t xp_timer_waiter_begin(struct xpoll *queue, int64_t *deadline_ns);
/* The thread is back. */
void xp_timer_waiter_end(struct xpoll *queue, uint32_t waiter);
/* A thread was woken; until one comes out nobody else need be. */
void xp_timer_waiter_called(struct xpoll *queue);
/* A thread came out, or has perhaps taken the wake-up. */
void xp_timer_waiter_answered(struct xpoll *queue);
/* In a forked child: the threads were the parent's. */
void xp_timer_waiter_forget(struct xpoll *queue);

#endif
