/* What sources may know and set of their queue. */
#include "core/host.h"

#include "core/timer_waiter.h"
#include "os/sys.h"

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

int64_t xp_source_now(struct xpoll *queue)
{
	if (queue->change_ns == XP_NOW)
		queue->change_ns = xp_sys_now();
	return queue->change_ns;
}

bool xp_source_exposed(const struct xpoll *queue)
{
	return queue->exposed;
}

void xp_source_set_probed(struct xpoll *queue, enum xp_source_id id, bool probed)
{
	if (probed)
		queue->probed |= 1u << id;
	else
		queue->probed &= ~(1u << id);
}

bool xp_source_awaited(const struct xpoll *queue)
{
	return queue->exposed || queue->threads.waiters > 0;
}

/* It grows when the kernel is about to be asked, and when a thread is back from there. */
uint64_t xp_source_harvest(const struct xpoll *queue)
{
	return queue->counters.syscalls_wait + queue->threads.sleeps;
}

void xp_source_unobserved(struct xpoll *queue)
{
	xp_count(&queue->counters.signals_unobserved);
}

void xp_source_confirmed(const struct xpoll *queue, struct xp_registration *reg)
{
	reg->confirmed = xp_moment(queue);
}

bool xp_source_vnode_as_bsd(const struct xpoll *queue)
{
	return queue->vnode_as_bsd;
}
