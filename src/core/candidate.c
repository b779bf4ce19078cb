/* The queue of candidates. */
#include "core/candidate.h"

#include "base/assert.h"

int xp_candidate_pop(struct xpoll *queue, struct xp_slot **slot)
{
	int fd = queue->candidates.head;

	XP_ASSERT(queue->candidates.len > 0);
	*slot = xp_slots_get(&queue->slots, fd);
	queue->candidates.head = (*slot)->check.next;
	queue->candidates.len--;
	(*slot)->check.next = XP_SLOT_UNQUEUED;
	return fd;
}

void xp_candidate_defer(struct xpoll *queue, int fd, struct xp_slot *slot,
                        unsigned filters, uint32_t events)
{
	if (xp_slot_can_probe(fd, slot)) {
		xp_recheck_level(queue, fd, slot, filters);
		return;
	}
	if (xp_slot_has_news(queue, slot)) {
		xp_slot_keep_news(slot, events);
		xp_recheck_level(queue, fd, slot, filters & slot->present);
		return;
	}
	XP_ASSERT(events <= UINT16_MAX);
	if (slot->check.deferred)
		filters |= slot->delivered.deferred_for;
	slot->delivered.deferred_for = filters & XP_ALL_FILTERS;
	slot->check.deferred |= (uint16_t)events;
	xp_candidate_append(queue, fd, slot);
}

void xp_candidates_served(struct xpoll *queue, int count)
{
	int first = queue->candidates.head;
	int last = first;

	if (count == 0 || count == queue->candidates.len)
		return;
	XP_ASSERT(count > 0 && count < queue->candidates.len);
	while (--count > 0)
		last = xp_slots_get(&queue->slots, last)->check.next;
	queue->candidates.head = xp_slots_get(&queue->slots, last)->check.next;
	xp_slots_get(&queue->slots, last)->check.next = XP_SLOT_END;
	xp_slots_get(&queue->slots, queue->candidates.tail)->check.next = first;
	queue->candidates.tail = last;
}

bool xp_candidates_still_ready(const struct xpoll *queue)
{
	int fd = queue->candidates.head;

	for (int left = queue->candidates.len; left > 0; left--) {
		const struct xp_slot *slot = xp_slots_get(&queue->slots, fd);

		if ((slot->check.level & slot->enabled) || slot->check.deferred)
			return true;
		fd = slot->check.next;
	}
	return false;
}

void xp_candidates_all(struct xpoll *queue)
{
	struct xp_slot *slot;

	for (int fd = 0; (slot = xp_slots_walk(&queue->slots, &fd)); fd++) {
		if (!slot->enabled || slot->mode == XP_MODE_UNPOLLABLE ||
		    slot->mode == XP_MODE_LEVEL)
			continue;
		if (slot->mode == XP_MODE_ONESHOT)
			slot->mode = XP_MODE_FIRED;
		xp_recheck_enabled(queue, fd, slot, slot->enabled);
	}
}

void xp_candidates_withheld(struct xpoll *queue)
{
	struct xp_slot *slot;

	queue->withheld = false;
	for (int fd = 0; (slot = xp_slots_walk(&queue->slots, &fd)); fd++) {
		if (!slot->delivered.withheld)
			continue;
		slot->delivered.withheld = 0;
		xp_recheck_enabled(queue, fd, slot, slot->enabled);
	}
}

void xp_candidate_outdated(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters)
{
	unsigned enabled = slot->enabled;

	if (slot->mode == XP_MODE_ONESHOT)
		slot->mode = XP_MODE_FIRED;
	if (slot->mode == XP_MODE_EDGE)
		enabled &= filters;
	/* Level registrations are with the kernel again. */
	if (enabled && (slot->mode == XP_MODE_EDGE ||
	                slot->mode == XP_MODE_FIRED))
		xp_recheck_level(queue, fd, slot, enabled);
}
