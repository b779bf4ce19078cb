/* What a source has in its queue. */
#include "core/host.h"

#include "core/timer_waiter.h"

void **xp_source_state(struct xpoll *queue, enum xp_source_id id)
{
	return &queue->sources[id].state;
}

void xp_source_set_due(struct xpoll *queue, enum xp_source_id id,
                       int64_t deadline_ns)
{
	queue->sources[id].due_ns = deadline_ns;
	queue->due_ns = XP_NEVER;
	queue->on_demand = false;
	queue->sourced = true;
	for (int i = 0; i < XP_SOURCES; i++) {
		int64_t due_ns = queue->sources[i].due_ns;

		if (due_ns < queue->due_ns)
			queue->due_ns = due_ns;
		if (due_ns == XP_ON_DEMAND)
			queue->on_demand = true;
	}
	if (xp_timer_waiter_missing(queue))
		queue->recheck_wanted = queue->threads.waiters > 0;
}
