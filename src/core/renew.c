/* Renewing the kernel's set. */
#include "core/renew.h"

#include "base/assert.h"
#include "base/result.h"
#include "core/interest.h"
#include "core/sleep.h"
#include "core/source_fd.h"
#include "core/unpollable.h"

/* Put it into the kernel's set, where it is not. */
static int slot_attach(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	enum xp_mode mode;
	unsigned filters;
	int rc;

	if (slot->mode == XP_MODE_SOURCE)
		return xp_source_fd_attach(queue, fd, slot);
	xp_interest_choose(queue, slot, &mode, &filters);
	slot->mode = XP_MODE_NONE;
	slot->armed = 0;
	slot->solo = 0;
	if (mode == XP_MODE_EXCLUSIVE && !filters)
		return 0;
	rc = xp_entry_push(queue, fd, slot, mode, filters);
	if (rc < 0 && !xp_is_lack(rc)) {
		xp_entry_drop(queue, fd, slot);
		return 0;
	}
	return rc;
}

/* Could not be attached when it should have been. */
static bool slot_is_missing(const struct xp_slot *slot)
{
	if (slot->mode == XP_MODE_SOURCE)
		return !slot->armed;
	return slot->mode == XP_MODE_NONE && slot->enabled;
}

int xp_renew_attach_all(struct xpoll *queue, bool inherited)
{
	struct xp_slot *slot;
	int first = 0;

	for (int fd = 0; (slot = xp_slots_walk(&queue->slots, &fd)); fd++) {
		int rc = 0;

		if (slot->mode == XP_MODE_NONE && !slot_is_missing(slot))
			continue;
		if (slot->mode != XP_MODE_UNPOLLABLE)
			rc = slot_attach(queue, fd, slot);
		else if (inherited)
			rc = xp_unpollable_inherit(queue, fd);
		if (first == 0)
			first = rc;
	}
	queue->unattached = first < 0;
	return first;
}

int xp_renew_attach_rest(struct xpoll *queue)
{
	struct xp_slot *slot;
	int rc = 0;

	for (int fd = 0; rc == 0 && (slot = xp_slots_walk(&queue->slots, &fd)); fd++)
		if (slot_is_missing(slot))
			rc = slot_attach(queue, fd, slot);
	queue->unattached = rc < 0;
	return rc;
}

/*
 * Drop the slots whose number is another file's by now.  The back end that can
 * ask its old set does so when they are in the new one: in the other order a
 * number that is closed and opened again in between would bring a file in that
 * nobody has registered.
 */
static void renew_confirm(struct xpoll *queue)
{
	bool (*knows)(void *state, int fd) = queue->ops->renew->knows;
	struct xp_slot *slot;

	for (int fd = 0; (slot = xp_slots_walk(&queue->slots, &fd)); fd++) {
		bool level_or_edge = slot->mode == XP_MODE_LEVEL ||
			slot->mode == XP_MODE_EDGE;

		if (!slot->present || slot->mode == XP_MODE_UNPOLLABLE ||
		    (slot->mode == XP_MODE_NONE && !slot->enabled))
			continue;
		if (knows && !knows(queue->backend, fd))
			xp_entry_forget(queue, fd);
		else if (!knows && level_or_edge)
			(void)xp_entry_push(queue, fd, slot,
			                       (enum xp_mode)slot->mode, slot->armed);
	}
}

void xp_renew(struct xpoll *queue)
{
	const struct xp_renew_ops *ops = queue->ops->renew;

	xp_mutex_assert_held(&queue->lock);
	if (!ops)
		return;
	if (!ops->knows)
		renew_confirm(queue);
	if (ops->begin(queue->backend) < 0)
		return; /* No descriptor free: tried again when it hurts again. */
	xp_count(&queue->counters.rebuilds);
	/* What the kernel has no memory for the next wait attaches, or says so. */
	(void)xp_renew_attach_all(queue, false);
	if (ops->knows) {
		renew_confirm(queue);
		ops->end(queue->backend);
	}
	xp_kick_all(queue);
}
