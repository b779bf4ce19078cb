/*
 * Stores the times at which the queue has to call its sources, and chooses the timer waiter, the
 * thread that sleeps until the earliest one: see due.h.
 */
#include "core/due.h"

#include "core/marks.h"

void xp_due_set(struct xpoll *queue, enum xp_source_id id, int64_t deadline_ns)
{
	XP_ASSERT(id < XP_SOURCES);
	queue->sources[id].due_ns = deadline_ns;
	queue->due_ns = XP_NEVER;
	for (int i = 0; i < XP_SOURCES; i++)
		if (queue->sources[i].due_ns < queue->due_ns)
			queue->due_ns = queue->sources[i].due_ns;
	if (xp_timer_waiter_missing(queue))
		xp_kick_request(queue);
}

uint32_t xp_timer_waiter_begin(struct xpoll *queue, int64_t *deadline_ns)
{
	if (XP_LIKELY(!xp_timer_waiter_missing(queue)))
		return 0;
	if (queue->due_ns < *deadline_ns)
		*deadline_ns = queue->due_ns;
	if (++queue->timer.numbers == 0)
		queue->timer.numbers = 1;
	queue->timer.waiter = queue->timer.numbers;
	queue->timer.until_ns = queue->due_ns;
	return queue->timer.waiter;
}

void xp_timer_waiter_end(struct xpoll *queue, uint32_t waiter)
{
	if (waiter && queue->timer.waiter == waiter)
		xp_timer_waiter_forget(queue);
}

void xp_timer_wakeup_sent(struct xpoll *queue)
{
	XP_ASSERT(xp_has_sleepers(queue));
	queue->timer.waiter = 0;
	queue->timer.until_ns = XP_NOW;
}

void xp_timer_wakeup_clear(struct xpoll *queue)
{
	if (XP_UNLIKELY(queue->timer.until_ns == XP_NOW))
		queue->timer.until_ns = XP_NEVER;
}

void xp_timer_waiter_forget(struct xpoll *queue)
{
	queue->timer.waiter = 0;
	queue->timer.until_ns = XP_NEVER;
}
