/* The list of candidates, the slots whose state the next wait checks by poll(2). */
#include "core/candidates.h"

#include "sys/sys.h"

void xp_candidate_push(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	if (slot->next != XP_UNQUEUED)
		return;
	slot->next = queue->candidates.len ? queue->candidates.head : XP_LAST;
	if (queue->candidates.len++ == 0)
		queue->candidates.tail = fd;
	queue->candidates.head = fd;
}

int xp_candidate_pop(struct xpoll *queue, struct xp_slot **slot)
{
	int fd = queue->candidates.head;

	XP_ASSERT(queue->candidates.len > 0);
	*slot = xp_slots_get(queue, fd);
	queue->candidates.head = (*slot)->next;
	(*slot)->next = XP_UNQUEUED;
	queue->candidates.len--;
	return fd;
}

/*
 * Add to slot->deferred those bits that poll(2) has cleared and that registered READ and EXCEPT
 * filters get, and POLLERR.  poll(2) clears no POLLOUT, so WRITE needs none.
 */
static void deferred_merge(struct xp_slot *slot, uint32_t events)
{
	events &= POLLERR | (xp_watch_bits(slot, slot->present) & (POLLIN | POLLPRI));
	slot->deferred |= (uint16_t)events;
}

void xp_defer_delivery(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters,
                       uint32_t events)
{
	if (xp_slot_can_probe(fd, slot)) {
		slot->recheck |= XP_SET(filters);
	} else if (xp_poll_clears(queue, slot)) {
		deferred_merge(slot, events);
		slot->recheck |= XP_SET(filters & slot->present);
	} else {
		slot->deferred_for |= filters & XP_ALL_FILTERS;
		slot->deferred |= (uint16_t)events;
		/*
		 * Request no bits of the file from the kernel until those in slot->deferred are
		 * delivered (deliver_deferred), so that the kernel reports, and thereby clears, no
		 * others.
		 */
		if (slot->kind == XP_KIND_CLEARED && queue->ops->caps & XP_CAP_CONCURRENT)
			(void)queue->ops->change(queue->backend, fd, 0, xp_slot_token(slot, fd));
	}
	xp_candidate_append(queue, fd, slot);
}

void xp_candidates_add_edges(struct xpoll *queue)
{
	struct xp_slot *slot;

	for (int fd = 0; (slot = xp_slots_walk(queue, &fd)); fd++) {
		/*
		 * A lost report may have made the one-shot entry silent, so that it reports nothing
		 * more: record that, so that the check arms the entry.
		 */
		if (slot->mode == XP_MODE_ONCE) {
			xp_late_await(slot);
			XP_ASSERT(!slot->exclusive);
			slot->armed &= slot->solo;
		} else if (slot->mode != XP_MODE_EDGE && !slot->solo) {
			continue;
		}
		xp_slot_outdate_reports(queue, slot);
		if (slot->enabled)
			xp_candidate_add_delivered(queue, fd, slot, slot->enabled);
	}
}

void xp_candidates_add_hangups(struct xpoll *queue)
{
	struct xp_slot *slot;

	queue->hangup_ignored = false;
	for (int fd = 0; (slot = xp_slots_walk(queue, &fd)); fd++) {
		if (!slot->hangup_ignored)
			continue;
		slot->hangup_ignored = 0;
		xp_candidate_add_delivered(queue, fd, slot, slot->enabled);
	}
}

void xp_defer_before_change(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	struct pollfd probe = {.fd = fd, .events = POLLIN | POLLPRI};

	if (XP_LIKELY(!xp_poll_clears(queue, slot)))
		return;
	queue->has_cleared_file = true;
	xp_count(&queue->counters.syscalls_check);
	if (xp_sys_poll_now(&probe, 1) > 0 && !(probe.revents & POLLNVAL))
		deferred_merge(slot, (unsigned short)probe.revents);
}

void xp_defer_for_disabled(struct xpoll *queue, int fd, struct xp_slot *slot, uint32_t events)
{
	unsigned missed = slot->present & ~(unsigned)slot->enabled;

	if (!missed || !(events & (POLLIN | POLLPRI | POLLERR)) ||
	    xp_slot_kind(fd, slot) != XP_KIND_CLEARED)
		return;
	/*
	 * Keep only the bits of disabled filters, because the enabled filters receive their bits
	 * now.
	 */
	events &= (xp_watch_bits(slot, missed) & (POLLIN | POLLPRI)) |
		(missed & (XP_BIT(XP_READ) | XP_BIT(XP_WRITE)) ? POLLERR : 0u);
	if (queue->lazy)
		deferred_merge(slot, events);
	else if (queue->ops->caps & XP_CAP_CONCURRENT && missed & xp_filters_of(events))
		xp_defer_delivery(queue, fd, slot, missed & xp_filters_of(events), events);
}
