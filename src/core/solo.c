/* Filters that have an entry of their own in the kernel. */
#include "core/solo.h"

#include <errno.h>

#include "base/assert.h"
#include "core/candidate.h"
#include "core/entry.h"

static uint32_t solo_watch(const struct xp_slot *slot, unsigned filter)
{
	return xp_entry_probe_bits(slot, XP_BIT(filter)) | XP_WATCH_EDGE |
		XP_WATCH_SOLO(filter);
}

/* There is no room for such an entry: an edge reported twice is better than none. */
static int solo_share(struct xpoll *queue, int fd, struct xp_slot *slot,
                      unsigned filter)
{
	unsigned filters = xp_slot_main_filters(slot, xp_exact(queue)) | XP_BIT(filter);
	int rc = queue->ops->change(queue->backend, fd,
	                            xp_entry_watch(slot, XP_MODE_EDGE, filters),
	                            xp_entry_next_token(queue, slot, fd));

	if (rc == 0) {
		xp_entry_set_mode(queue, slot, XP_MODE_EDGE, filters);
		slot->armed |= slot->solo;
	}
	return rc;
}

/* known: the number was found to be that of the file just now. */
static int solo_arm(struct xpoll *queue, int fd, struct xp_slot *slot,
                    unsigned filter, bool known)
{
	uint32_t watch = solo_watch(slot, filter);
	uint64_t token = xp_slot_token(slot, fd);
	bool there = slot->solo & XP_BIT(filter);
	int rc = known || there ? 0 : xp_entry_still(queue, fd, slot, 0);

	if (rc == 0 && there)
		rc = queue->ops->change(queue->backend, fd, watch, token);
	else if (rc == 0)
		rc = queue->ops->attach(queue->backend, fd, watch, token);
	if (rc == -ENOENT || rc == -EBADF || rc == -EPERM)
		return -ENOENT;
	if (rc < 0)
		return solo_share(queue, fd, slot, filter);
	slot->solo = (slot->solo | XP_BIT(filter)) & XP_ALL_FILTERS;
	slot->armed |= XP_SET(XP_BIT(filter));
	xp_slot_marked(queue, slot);
	queue->ask.due = true;
	return 0;
}

static int solo_arm_all(struct xpoll *queue, int fd, struct xp_slot *slot,
                        unsigned filters, bool known)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < XP_FD_FILTERS; i++)
		if (filters & XP_BIT(i))
			rc = solo_arm(queue, fd, slot, i, known);
	return rc;
}

int xp_solo_report(struct xpoll *queue, int fd, struct xp_slot *slot,
                   unsigned filters)
{
	unsigned main = filters & slot->modes.clear & ~(unsigned)slot->solo;
	bool by_edge = slot->mode == XP_MODE_EDGE;
	int rc;

	XP_ASSERT(!xp_exact(queue) && !(filters & ~(unsigned)slot->enabled));
	if (!by_edge)
		filters = slot->enabled;
	if (!by_edge || (main && !xp_solo_held(queue, slot, main)))
		filters &= ~(slot->modes.clear & ~(unsigned)slot->solo);
	else
		main = 0;
	rc = solo_arm_all(queue, fd, slot, filters, false);
	if (rc == -ENOENT)
		xp_entry_drop(queue, fd, slot);
	if (rc == 0 && (main || !by_edge))
		rc = xp_entry_push(queue, fd, slot, XP_MODE_EDGE,
		                      xp_slot_main_filters(slot, xp_exact(queue)));
	return rc;
}

int xp_solo_add(struct xpoll *queue, int fd, struct xp_slot *slot,
                unsigned filters)
{
	unsigned enabled = filters & slot->enabled;
	bool sleeps = queue->threads.waiters > 0 && xp_slot_can_probe(fd, slot);
	bool arm = enabled && (enabled & slot->modes.clear || sleeps);
	int rc;

	XP_ASSERT(xp_slot_holds_edges(slot, xp_exact(queue)));
	slot->history.idle_checks = 0;
	slot->history.fruitless = 0;
	/* The change of an entry of its own shows whether it is the same file. */
	if (arm && !(filters & ~(unsigned)slot->solo))
		return solo_arm_all(queue, fd, slot, enabled, true);
	rc = xp_entry_still(queue, fd, slot, 0);
	if (rc < 0)
		return rc;
	if (arm)
		return solo_arm_all(queue, fd, slot, enabled, true);
	if (enabled)
		xp_recheck_by_sleeper(queue, fd, slot, enabled);
	return 0;
}
