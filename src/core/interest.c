/*
 * What has happened to a descriptor's filters goes to the state machine (arm.c),
 * and what that answers is done here.
 */
#include "core/interest.h"

#include <errno.h>

#include "base/assert.h"
#include "base/result.h"
#include "core/candidate.h"
#include "core/entry.h"
#include "core/solo.h"
#include "core/unpollable.h"

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
	slot->modes.clear &= left;
	slot->modes.oneshot &= left;
	slot->modes.dispatch &= left;
	slot->modes.exclusive &= left;
	slot->count.filters &= left & XP_ALL_FILTERS;
	slot->count.soerr &= left;
	slot->lowat.filters &= left;
	slot->lowat.unmet &= left;
	slot->check.enabled &= left;
	slot->check.level &= left;
	slot->delivered.deferred_for &= left & XP_ALL_FILTERS;
	if (filters & XP_BIT(XP_READ))
		slot->requested &= XP_REQUEST_OOB;
	if (filters & XP_BIT(XP_EXCEPT))
		slot->requested &= XP_REQUEST_IN | XP_REQUEST_RDHUP;
}

static struct xp_view view_of(const struct xpoll *queue)
{
	return (struct xp_view){
		.exact = xp_exact(queue),
		.several = queue->turn.several,
		.sleeping = queue->threads.waiters > 0,
		.together = queue->ops->flush != NULL,
	};
}

void xp_interest_choose(const struct xpoll *queue, const struct xp_slot *slot,
                        enum xp_mode *mode, unsigned *filters)
{
	struct xp_view view = view_of(queue);

	xp_slot_choose(slot, &view, mode, filters);
}

bool xp_interest_chosen(const struct xpoll *queue, const struct xp_slot *slot,
                        enum xp_mode mode, unsigned filters)
{
	enum xp_mode chosen;
	unsigned chosen_filters;

	xp_interest_choose(queue, slot, &chosen, &chosen_filters);
	return chosen == mode && chosen_filters == filters;
}

/* Nothing is enabled: the slot stays, and the kernel knows nothing of it. */
static int leave(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	int rc = 0;

	if (slot->mode != XP_MODE_NONE)
		rc = queue->ops->detach(queue->backend, fd);
	slot->mode = XP_MODE_NONE;
	slot->armed = 0;
	if (rc == -ENOENT || rc == -EBADF)
		xp_entry_drop(queue, fd, slot);
	return rc;
}

/* Do as the state machine says. */
static int act(struct xpoll *queue, int fd, struct xp_slot *slot,
               const struct xp_step *step)
{
	int rc;

	switch (step->what) {
	case XP_DO_NOTHING:
		break;
	case XP_DO_RECHECK:
		xp_recheck_by_sleeper(queue, fd, slot, step->filters);
		break;
	case XP_DO_HARVEST:
		xp_slot_marked(queue, slot);
		queue->ask.due = true;
		break;
	case XP_DO_FILE:
		xp_unpollable_ask(queue, fd, step->filters);
		break;
	case XP_DO_PUSH:
		rc = xp_entry_push_again(queue, fd, slot, step->mode, step->filters,
		                         step->again);
		if (rc == 0 && step->recheck)
			xp_recheck_enabled(queue, fd, slot, step->again);
		return rc;
	case XP_DO_LEAVE:
		return leave(queue, fd, slot);
	case XP_DO_SOLO:
		return xp_solo_report(queue, fd, slot, step->filters);
	case XP_DO_END_SOLO:
		xp_entry_end_solo(queue, fd, slot, step->filters);
		break;
	}
	return 0;
}

static int input(struct xpoll *queue, int fd, struct xp_slot *slot,
                 enum xp_input input, unsigned filters)
{
	struct xp_view view = view_of(queue);
	struct xp_step step;

	if (input == XP_IN_ENABLED && view.sleeping && !view.exact)
		view.can_probe = xp_slot_can_probe(fd, slot);
	step = xp_slot_step(slot, &view, input, filters);
	return act(queue, fd, slot, &step);
}

int xp_interest_publish(struct xpoll *queue, int fd, struct xp_slot *slot,
                        unsigned filters)
{
	return input(queue, fd, slot, XP_IN_PUBLISH, filters);
}

void xp_interest_cover(struct xpoll *queue, int fd, struct xp_slot *slot,
                       unsigned filters)
{
	(void)input(queue, fd, slot, XP_IN_COVER, filters);
}

void xp_interest_quiet(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	(void)input(queue, fd, slot, XP_IN_QUIET, 0);
}

int xp_interest_silenced(struct xpoll *queue, int fd, struct xp_slot *slot,
                         unsigned filters)
{
	uint64_t token = xp_slot_token(slot, fd);
	uint32_t sequence = slot->sequence;
	int rc;

	xp_interest_free_disable(queue, fd, slot, filters);
	rc = input(queue, fd, slot, XP_IN_SILENCED, filters);
	/* What was harvested of the others before is as good as it was. */
	if (xp_exact(queue) && xp_slot_is_of(slot, token))
		slot->sequence = sequence;
	/* The kernel reports more than is wanted, which is filtered. */
	return xp_is_lack(rc) ? 0 : rc;
}

int xp_interest_wanted(struct xpoll *queue, int fd, struct xp_slot *slot,
                       unsigned filters)
{
	return input(queue, fd, slot, XP_IN_ENABLED, filters);
}

void xp_interest_fruitless(struct xpoll *queue, int fd, struct xp_slot *slot,
                           unsigned passed_over)
{
	xp_count(&queue->counters.fruitless);
	(void)input(queue, fd, slot, XP_IN_FRUITLESS, passed_over);
}

/* After a delivery: the filter is to be silent. */
static void delivered_dispatch(struct xpoll *queue, int fd, struct xp_slot *slot,
                               unsigned filter)
{
	slot->enabled &= XP_SET(~XP_BIT(filter));
	/* A failure means that the file is gone, and the slot with it. */
	(void)xp_interest_silenced(queue, fd, slot, XP_BIT(filter));
}

/* Or to be gone. */
static void delivered_oneshot(struct xpoll *queue, int fd, struct xp_slot *slot,
                              unsigned filter)
{
	if (slot->present == XP_BIT(filter)) {
		xp_entry_forget(queue, fd);
		return;
	}
	xp_interest_remove_filters(queue, slot, XP_BIT(filter));
	(void)xp_interest_silenced(queue, fd, slot, XP_BIT(filter));
}

/* The same for all filters of the descriptor. */
static void delivered_whole(struct xpoll *queue, int fd, struct xp_slot *slot, bool oneshot)
{
	if (oneshot) {
		xp_entry_forget(queue, fd);
		return;
	}
	slot->enabled = 0;
	(void)xp_interest_silenced(queue, fd, slot, slot->present);
}

void xp_interest_handed(struct xpoll *queue, int fd, struct xp_slot *slot,
                       unsigned filter)
{
	unsigned bit = XP_BIT(filter);

	if (slot->modes.whole && (slot->modes.oneshot | slot->modes.dispatch) & bit)
		delivered_whole(queue, fd, slot, slot->modes.oneshot & bit);
	else if (slot->modes.oneshot & bit)
		delivered_oneshot(queue, fd, slot, filter);
	else if (slot->modes.dispatch & bit)
		delivered_dispatch(queue, fd, slot, filter);
	else if (!(slot->modes.clear & bit) && slot->mode == XP_MODE_EDGE)
		xp_recheck_level(queue, fd, slot, bit);
}

void xp_interest_fired_rest(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	XP_ASSERT(!(slot->enabled & ~(unsigned)slot->present));
	if (slot->mode == XP_MODE_FIRED && slot->enabled) {
		xp_recheck_level(queue, fd, slot, slot->enabled);
		queue->recheck_wanted |= queue->threads.waiters > 0;
	}
}
