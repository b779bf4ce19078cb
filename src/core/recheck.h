/*
 * The check of candidates: one poll(2) that does not wait, over a bounded
 * chunk of them.
 */
#ifndef XP_CORE_RECHECK_H
#define XP_CORE_RECHECK_H

#include "core/entry.h"
#include "core/queue.h"

/* A look at one candidate. */
struct xp_probe {
	struct pollfd poll;
	struct xp_slot *slot;
	bool confirm; /* nobody named it since it was delivered */
};

/*
 * The bits to look at: what is enabled, but of edge-triggered filters only
 * those that are candidates, or they would be reported again and again.
 */
static inline short xp_candidate_bits(const struct xp_slot *slot, unsigned candidates)
{
	unsigned filters = slot->enabled & (candidates | ~xp_slot_by_edge(slot));

	return (short)xp_entry_probe_bits(slot, filters);
}

/*
 * Programs that handle one event after the other mostly have one candidate,
 * which only needs a look.  Take it, and when poll(2) has answered, go on;
 * false: it is not this case, and nothing was done.  Inline: os/sys_hot.h says why.
 */
static XP_INLINE bool xp_candidate_take_single(struct xpoll *queue, struct xp_probe *probe)
{
	int fd = queue->candidates.head;
	struct xp_slot *slot = xp_slots_get(&queue->slots, fd);
	unsigned recheck_enabled = slot->recheck_enabled & slot->enabled;
	unsigned candidates = recheck_enabled | (slot->recheck_level & slot->enabled);

	if (queue->candidates.len != 1 || !candidates || slot->deferred ||
	    candidates & ~(unsigned)slot->armed ||
	    slot->mode == XP_MODE_FIRED || !xp_slot_can_probe(fd, slot))
		return false;
	probe->poll.fd = fd;
	probe->poll.events = xp_candidate_bits(slot, candidates);
	probe->slot = slot;
	probe->confirm = !recheck_enabled;
	slot->recheck_enabled = 0;
	slot->recheck_level = 0;
	slot->next = XP_SLOT_UNQUEUED;
	queue->candidates.len = 0;
	xp_count(&queue->counters.syscalls_check);
	return true;
}

void xp_candidate_probed(struct xpoll *queue, struct xp_wait *wait,
                         const struct xp_probe *probe, int rc);

/* Check candidates until the wait has events or all were checked. */
void xp_candidates_check(struct xpoll *queue, struct xp_wait *wait);

/* Let the kernel report them instead, so that another thread sees them. */
void xp_candidates_publish(struct xpoll *queue);

/* Look at the files that are awake, and deliver what is ready. */
void xp_files_check(struct xpoll *queue, struct xp_wait *wait);

#endif
