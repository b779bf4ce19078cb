/*
 * The check of candidates: one poll(2) that does not wait, over a bounded
 * chunk of them.
 */
#ifndef XP_CORE_RECHECK_H
#define XP_CORE_RECHECK_H

#include "core/deliver.h"
#include "core/entry.h"
#include "core/queue.h"
#include "os/sys_hot.h"

/*
 * The bits to check: what is enabled, but of edge-triggered filters only
 * those that are candidates, or they would be reported again and again.
 */
static inline short xp_candidate_bits(const struct xp_slot *slot, unsigned candidates)
{
	unsigned filters = slot->enabled;

	if (XP_UNLIKELY(slot->modes.clear || slot->lowat.filters)) /* neighbours */
		filters &= candidates | ~xp_slot_by_edge(slot);
	return (short)xp_entry_probe_bits(slot, filters);
}

/* Did a check find nothing but what is to be delivered as it is? */
static inline bool xp_probe_is_plain(int bits)
{
	return !(bits & (POLLNVAL | POLLHUP | POLLERR)) &&
		!xp_pollbits_in_doubt(POLLRDHUP, (uint32_t)bits);
}

/* What poll(2) has found of a candidate, rc being its result. */
void xp_candidate_probed(struct xpoll *queue, struct xp_wait *wait, struct pollfd *found,
                         struct xp_slot *slot, bool confirm, int rc);

/* A candidate that only needs a check; inline, as what follows: os/sys_hot.h says why. */
static XP_INLINE bool xp_candidate_is_simple(const struct xp_slot *slot)
{
	uint8_t filters = slot->check.enabled | slot->check.level;

	XP_ASSERT(!(filters & ~(unsigned)slot->enabled));
	return filters && !(filters & ~(unsigned)slot->armed) && slot->mode != XP_MODE_FIRED &&
		!slot->lowat.filters && xp_kind_can_probe((enum xp_fd_kind)slot->kind);
}

/* Check the only candidate, which is simple.  The result is that of poll(2). */
static XP_INLINE int xp_candidate_probe(struct xpoll *queue, struct xp_slot *slot)
{
	struct pollfd *probe = &queue->candidates.probe;

	XP_ASSERT(queue->candidates.len == 1 && xp_candidate_is_simple(slot));
	XP_ASSERT(!slot->check.deferred); /* Only of what cannot be probed. */
	probe->fd = queue->candidates.head;
	probe->events = xp_candidate_bits(slot, slot->check.enabled | slot->check.level);
	slot->check.enabled = 0;
	slot->check.level = 0;
	slot->check.next = XP_SLOT_UNQUEUED;
	queue->candidates.len = 0;
	xp_count(&queue->counters.syscalls_check);
	return xp_sys_probe(probe);
}

/*
 * Programs that handle one event after the other mostly have one candidate, which
 * is simple.  False: it is not this case, and nothing was done.
 */
static XP_INLINE bool xp_candidate_check_single(struct xpoll *queue, struct xp_wait *wait,
                                                bool poll_level)
{
	struct pollfd *probe = &queue->candidates.probe;
	struct xp_slot *slot = xp_slots_get(&queue->slots, queue->candidates.head);
	bool confirm = !slot->check.enabled;
	int rc;

	if (queue->candidates.len != 1 || !xp_candidate_is_simple(slot))
		return false;
	rc = xp_candidate_probe(queue, slot);
	if (XP_LIKELY(rc > 0 && !confirm && xp_probe_is_plain(probe->revents)))
		xp_deliver(queue, wait, poll_level, xp_slot_token(slot, probe->fd), slot,
		           (uint32_t)probe->revents, false);
	else
		xp_candidate_probed(queue, wait, probe, slot, confirm, rc);
	return true;
}

/* Check candidates until the wait has events or all were checked. */
void xp_candidates_check(struct xpoll *queue, struct xp_wait *wait);

/* Let the kernel report them instead, so that another thread sees them. */
void xp_candidates_publish(struct xpoll *queue);

/* Check the files that are awake, and deliver what is ready. */
void xp_files_check(struct xpoll *queue, struct xp_wait *wait);

#endif
