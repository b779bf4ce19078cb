/*
 * How the kernel watches a descriptor: the modes of a slot and the moves
 * between them.  See docs/internals/protocol.md.
 */
#include "core/interest.h"

#include <errno.h>

#include "base/assert.h"
#include "core/candidate.h"
#include "core/result.h"
#include "core/source_host.h"
#include "core/unpollable.h"

enum {
	/*
	 * Reports in a row of a disabled direction after which it leaves the
	 * kernel's mask, or, if nothing is enabled, after which the entry is
	 * silenced; its next ENABLE costs one system call.
	 */
	FRUITLESS_MOST = 8,
	FLIPS_MOST = 4,
	/*
	 * Reports that level mode has to make, each without a look afterwards, to
	 * be worth the two changes in the kernel.
	 */
	LEVEL_WORTH = 2,
};

void xp_interest_remove_filters(struct xpoll *queue, struct xp_slot *slot,
                                unsigned filters)
{
	uint8_t left = XP_SET(~filters);

	for (int i = 0; i < XP_FD_FILTERS; i++) {
		if (!(filters & XP_BIT(i)))
			continue;
		slot->udata[i].bits = 0;
		xp_count_by(&queue->counters.registered, (uint64_t)-1);
	}
	XP_ASSERT(!(filters & ~(unsigned)slot->present));
	xp_attention_over(queue);
	slot->present &= left;
	slot->enabled &= left;
	slot->clear &= left;
	slot->oneshot &= left;
	slot->dispatch &= left;
	slot->exclusive &= left;
	slot->counted &= left & XP_ALL_FILTERS;
	slot->soerr &= left;
	slot->lowat &= left;
	slot->unmet &= left;
	slot->recheck_enabled &= left;
	slot->recheck_level &= left;
	slot->deferred_for &= left & XP_ALL_FILTERS;
	if (filters & XP_BIT(XP_READ))
		slot->requested &= XP_REQUEST_OOB;
	if (filters & XP_BIT(XP_EXCEPT))
		slot->requested &= XP_REQUEST_IN | XP_REQUEST_RDHUP;
}

/* All that is enabled can be silenced by its own delivery. */
static bool wants_oneshot(const struct xpoll *queue, const struct xp_slot *slot,
                          unsigned enabled)
{
	unsigned turns = slot->dispatch | slot->oneshot;

	return queue->several && queue->ops->caps & XP_CAP_ONESHOT &&
		enabled && !(enabled & ~turns) && !slot->lowat;
}

/*
 * The kernel's exclusive entries know POLLIN and POLLOUT alone, and by state.  It
 * is a hint: what they cannot say is more important.
 */
static bool exclusive_suits(const struct xp_slot *slot)
{
	bool in = slot->requested & XP_REQUEST_IN || !(slot->present & XP_BIT(XP_READ));

	XP_ASSERT(!(slot->exclusive & ~(unsigned)slot->present));
	XP_ASSERT(!(slot->exclusive & XP_BIT(XP_EXCEPT)));
	return in && !xp_slot_by_edge(slot) &&
		!(slot->present & XP_BIT(XP_EXCEPT));
}

void xp_interest_choose(const struct xpoll *queue, const struct xp_slot *slot,
                        enum xp_mode *mode, unsigned *filters)
{
	unsigned present = slot->present;
	unsigned enabled = slot->enabled;
	unsigned edge = xp_slot_by_edge(slot);
	bool cannot_share = queue->ops->caps & XP_CAP_FREE_CHANGE;

	*filters = enabled;
	*mode = XP_MODE_LEVEL;
	if (slot->exclusive && !cannot_share && exclusive_suits(slot)) {
		*mode = XP_MODE_EXCLUSIVE;
	} else if (xp_exact(queue)) {
		if (enabled & edge)
			*mode = XP_MODE_EDGE;
	} else if (!edge && wants_oneshot(queue, slot, enabled)) {
		*mode = XP_MODE_ONESHOT;
	} else if (edge || present != enabled || slot->flips || slot->dispatch) {
		*mode = XP_MODE_EDGE;
		*filters = xp_entry_lazy(queue, slot);
	}
}

bool xp_interest_chosen(const struct xpoll *queue, const struct xp_slot *slot,
                        enum xp_mode mode, unsigned filters)
{
	enum xp_mode chosen;
	unsigned chosen_filters;

	xp_interest_choose(queue, slot, &chosen, &chosen_filters);
	return chosen == mode && chosen_filters == filters;
}

int xp_interest_publish(struct xpoll *queue, int fd, struct xp_slot *slot,
                        unsigned filters)
{
	unsigned enabled = slot->enabled;

	if (!enabled)
		return 0;
	if (slot->clear && enabled & xp_slot_by_edge(slot) && !xp_exact(queue))
		return xp_solo_report(queue, fd, slot, filters & enabled);
	if (enabled & xp_slot_by_edge(slot))
		return xp_entry_push_again(queue, fd, slot, XP_MODE_EDGE,
		                              xp_entry_lazy(queue, slot), filters);
	if (wants_oneshot(queue, slot, enabled))
		return xp_entry_push(queue, fd, slot, XP_MODE_ONESHOT, enabled);
	return xp_entry_push(queue, fd, slot, XP_MODE_LEVEL, enabled);
}

void xp_interest_cover(struct xpoll *queue, int fd, struct xp_slot *slot,
                       unsigned filters)
{
	if (slot->clear)
		(void)xp_solo_report(queue, fd, slot, filters);
	else
		(void)xp_entry_push(queue, fd, slot, XP_MODE_EDGE,
		                       xp_entry_lazy(queue, slot));
}

/* Choose again and tell the kernel; with nothing enabled leave its set. */
static int push_chosen(struct xpoll *queue, int fd, struct xp_slot *slot,
                       unsigned again)
{
	enum xp_mode mode;
	unsigned filters;

	xp_interest_choose(queue, slot, &mode, &filters);
	if (mode == XP_MODE_EXCLUSIVE && !filters) {
		int rc = 0;

		if (slot->mode != XP_MODE_NONE)
			rc = queue->ops->detach(queue->backend, fd);
		slot->mode = XP_MODE_NONE;
		slot->armed = 0;
		if (rc == -ENOENT || rc == -EBADF)
			xp_entry_drop(queue, fd, slot);
		return rc;
	}
	return xp_entry_push_again(queue, fd, slot, mode, filters, again);
}

/* Filters became silent; lazily the kernel need not hear of it. */
int xp_interest_silenced(struct xpoll *queue, int fd, struct xp_slot *slot,
                         unsigned filters)
{
	int rc = 0;

	xp_interest_free_disable(queue, fd, slot, filters);
	if (slot->mode == XP_MODE_UNPOLLABLE)
		return 0;
	if (slot->mode == XP_MODE_EXCLUSIVE || xp_exact(queue))
		rc = push_chosen(queue, fd, slot, 0);
	/* The kernel reports more than is wanted, which is filtered. */
	return xp_is_lack(rc) ? 0 : rc;
}

/*
 * Level mode ends, after some reports, of which in_vain were wanted by nobody.
 * If it was too short, more patience is wanted the next time.
 */
static void level_ends(struct xp_slot *slot, unsigned in_vain)
{
	unsigned reports = xp_slot_mode_reports(slot);

	if (reports >= LEVEL_WORTH + in_vain)
		slot->flips = 0;
	else if (slot->flips < FLIPS_MOST)
		slot->flips++;
}

/* Filters are wanted again; make the next wait report what holds already. */
int xp_interest_wanted(struct xpoll *queue, int fd, struct xp_slot *slot,
                       unsigned filters)
{
	bool covered = !(filters & ~(unsigned)slot->armed);

	slot->idle_checks = 0;
	slot->fruitless = 0;
	if (slot->mode == XP_MODE_UNPOLLABLE) {
		xp_unpollable_ask(queue, fd, filters);
		return 0;
	}
	if (xp_exact(queue) || slot->mode == XP_MODE_NONE ||
	    slot->mode == XP_MODE_EXCLUSIVE) {
		int rc = push_chosen(queue, fd, slot, filters);

		/* One look at this is cheaper than one at the whole array. */
		if (rc == 0 && slot->mode == XP_MODE_LEVEL && !queue->ops->flush)
			xp_recheck_enabled(queue, fd, slot, filters);
		return rc;
	}
	if (xp_entry_holds_edges(queue, slot) &&
	    queue->waiters > 0 && xp_slot_can_probe(fd, slot))
		return xp_solo_report(queue, fd, slot, filters);
	if (slot->mode == XP_MODE_LEVEL && covered) {
		/* Its state is in the kernel's hands; see that it is asked. */
		slot->sequence = ++queue->sequence;
		queue->harvest_due = true;
		return 0;
	}
	if (slot->mode == XP_MODE_LEVEL)
		level_ends(slot, 0);
	/* A one-shot entry that has not fired is silent about the rest. */
	if (queue->waiters == 0 && (covered || slot->mode == XP_MODE_FIRED ||
	                            xp_entry_holds_edges(queue, slot))) {
		xp_recheck_enabled(queue, fd, slot, filters);
		return 0;
	}
	/* signalfd answers for the thread that asks: one that waits has to. */
	if (queue->waiters > 0 && !xp_slot_can_probe(fd, slot)) {
		xp_recheck_enabled(queue, fd, slot, filters);
		queue->recheck_wanted = true;
		return 0;
	}
	if (wants_oneshot(queue, slot, slot->enabled))
		return xp_entry_push(queue, fd, slot, XP_MODE_ONESHOT,
		                        slot->enabled);
	return xp_entry_push(queue, fd, slot, XP_MODE_EDGE,
	                        xp_entry_lazy(queue, slot));
}

void xp_interest_delivered_dispatch(struct xpoll *queue, int fd,
                                    struct xp_slot *slot, unsigned filter)
{
	slot->enabled &= XP_SET(~XP_BIT(filter));
	/* A failure means that the file is gone, and the slot with it. */
	(void)xp_interest_silenced(queue, fd, slot, XP_BIT(filter));
}

void xp_interest_delivered_oneshot(struct xpoll *queue, int fd,
                                   struct xp_slot *slot, unsigned filter)
{
	if (slot->present == XP_BIT(filter)) {
		xp_entry_forget(queue, fd);
		return;
	}
	xp_interest_remove_filters(queue, slot, XP_BIT(filter));
	(void)xp_interest_silenced(queue, fd, slot, XP_BIT(filter));
}

/* Eight reports in vain: the bits that make them leave the kernel's mask. */
static void fruitless_edge(struct xpoll *queue, int fd, struct xp_slot *slot,
                           unsigned passed_over)
{
	unsigned enabled = slot->enabled;
	unsigned silent = slot->armed & ~enabled;

	/* Errors and hang-ups no mask keeps out: silent after the next. */
	if (!enabled && queue->ops->caps & XP_CAP_ONESHOT) {
		(void)xp_entry_push(queue, fd, slot, XP_MODE_ONESHOT, 0);
	} else if (silent & slot->solo) {
		xp_entry_end_solo(queue, fd, slot, silent & slot->solo);
		slot->fruitless = 0;
	} else if (silent && (!slot->clear || passed_over == slot->solo)) {
		/* It was the main entry's report: none of its edges holds. */
		(void)xp_entry_push(queue, fd, slot, XP_MODE_EDGE,
		                       xp_entry_lazy(queue, slot) & enabled);
	}
}

void xp_interest_fruitless(struct xpoll *queue, int fd, struct xp_slot *slot,
                           unsigned passed_over)
{
	unsigned enabled = slot->enabled;

	xp_count(&queue->counters.fruitless);
	switch ((enum xp_mode)slot->mode) {
	case XP_MODE_LEVEL:
		level_ends(slot, 1);
		(void)xp_entry_push(queue, fd, slot, XP_MODE_EDGE,
		                       xp_entry_lazy(queue, slot));
		break;
	case XP_MODE_EDGE:
		if (++slot->fruitless >= FRUITLESS_MOST)
			fruitless_edge(queue, fd, slot, passed_over);
		break;
	case XP_MODE_FIRED:
		/* Armed by state again, it would make the same report at once. */
		if (enabled)
			(void)xp_entry_push(queue, fd, slot, XP_MODE_EDGE,
			                       xp_entry_lazy(queue, slot) & enabled);
		break;
	case XP_MODE_EXCLUSIVE:
		/* It is by state, too, and must not repeat. */
		(void)xp_entry_push(queue, fd, slot, XP_MODE_EDGE,
		                       xp_entry_lazy(queue, slot));
		break;
	case XP_MODE_ONESHOT:
	case XP_MODE_NONE:
	case XP_MODE_UNPOLLABLE:
	case XP_MODE_SOURCE:
		/* Armed again since, or not the kernel's: nothing repeats. */
		break;
	}
}

void xp_interest_handed(struct xpoll *queue, int fd, struct xp_slot *slot,
                       unsigned filter)
{
	unsigned bit = XP_BIT(filter);

	if (slot->oneshot & bit)
		xp_interest_delivered_oneshot(queue, fd, slot, filter);
	else if (slot->dispatch & bit)
		xp_interest_delivered_dispatch(queue, fd, slot, filter);
	else if (!(slot->clear & bit) && slot->mode == XP_MODE_EDGE)
		xp_recheck_level(queue, fd, slot, bit);
}

void xp_interest_rearm(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	unsigned enabled = slot->enabled;

	if (slot->mode == XP_MODE_FIRED && enabled)
		(void)xp_entry_push(queue, fd, slot, XP_MODE_ONESHOT, enabled);
}
