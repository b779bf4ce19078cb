/* Replaces the kernel's set by a new one: see renew.h. */
#include "core/renew.h"

#include "base/result.h"
#include "core/ask.h"
#include "core/entry.h"
#include "core/files.h"
#include "core/sources.h"
#include "core/threads.h"

/*
 * Attach one slot to the set as if it had no entry.  Drops a slot whose descriptor was closed or
 * reused.  Returns 0, or the error if memory or descriptors are lacking (xp_is_lack); for a
 * source's descriptor, any error.
 */
static int slot_attach(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	int rc;

	XP_ASSERT(slot->present || slot->mode == XP_MODE_SOURCE);
	if (slot->mode == XP_MODE_SOURCE)
		return xp_source_fd_attach(queue, fd, slot);
	slot->mode = XP_MODE_NONE;
	slot->armed = 0;
	slot->solo = 0;
	rc = xp_entry_attach(queue, fd, slot);
	if (rc == 0 || xp_is_lack(rc))
		return rc;
	xp_entry_drop(queue, fd, slot); /* the descriptor was closed or reused */
	return 0;
}

/*
 * Returns true if the slot has to be attached again, because the kernel may lack its entry, or be
 * silent about it.  XP_MODE_NONE: the entry was lost.  XP_MODE_SOURCE: an earlier try to attach the
 * source's descriptor may have failed, or the entry is one-shot and a cancelled thread may have
 * taken its only report.
 */
static bool slot_may_lack_entry(const struct xp_slot *slot)
{
	return slot->mode == XP_MODE_SOURCE || slot->mode == XP_MODE_NONE;
}

int xp_attach_slots(struct xpoll *queue, enum xp_attach which)
{
	struct xp_slot *slot;
	int first = 0;

	for (int fd = 0; (slot = xp_slots_walk(queue, &fd)); fd++) {
		int rc = 0;

		if (slot->mode == XP_MODE_FILE)
			rc = which == XP_ATTACH_INHERITED ? xp_file_inherit(queue, fd) : 0;
		else if ((slot->present || slot->mode == XP_MODE_SOURCE) &&
		         (which != XP_ATTACH_MISSING || slot_may_lack_entry(slot)))
			rc = slot_attach(queue, fd, slot);
		first = first < 0 ? first : rc;
	}
	xp_set_unattached(queue, first < 0);
	xp_ask_soon(queue);
	return first;
}

/*
 * Drop the slots whose descriptor refers to another file now: query the old set that the back end
 * has kept (`retire_old`), or change each entry: the change fails if fd refers to another file.
 */
static void drop_reused_slots(struct xpoll *queue)
{
	bool (*knows)(void *state, int fd) = queue->ops->renew->retire_old;
	struct xp_slot *slot;

	for (int fd = 0; (slot = xp_slots_walk(queue, &fd)); fd++) {
		if (!slot->present || slot->mode == XP_MODE_FILE || slot->mode == XP_MODE_NONE)
			continue;
		if (knows && !knows(queue->backend, fd))
			(void)xp_entry_end(queue, fd, slot, false);
		else if (!knows)
			(void)xp_entry_arm(queue, fd, slot, (enum xp_mode)slot->mode, slot->armed,
			                   XP_ALL_FILTERS);
	}
}

void xp_renew_kernel_set(struct xpoll *queue)
{
	const struct xp_renew_ops *ops = queue->ops->renew;

	if (!ops)
		return;
	XP_ASSERT(!ops->retire_old == !ops->end);
	if (!ops->retire_old)
		drop_reused_slots(queue);
	xp_late_await_all(queue);
	if (ops->begin(queue->backend) < 0)
		/*
		 * Without a free descriptor do nothing; further reports of ended registrations lead
		 * here again.
		 */
		return;
	queue->stats.rebuilds++;
	(void)xp_attach_slots(queue, XP_ATTACH_ALL);
	/*
	 * Query the old set only after all slots are in the new one.  In the other order a
	 * descriptor that is closed and reused in between would add a file to the new set that
	 * nobody registered.
	 */
	if (ops->retire_old) {
		drop_reused_slots(queue);
		ops->end(queue->backend);
	}
	xp_kick_all(queue);
}
