/*
 * Filters that have an entry of their own in the kernel.
 *
 * An edge is reported once for each activity, whatever happens to the other
 * filters of its descriptor.  But an entry that is changed is reported again as
 * a whole, so one with an edge that was reported is not changed for the sake
 * of another filter: that gets an entry of its own, when the kernel has to
 * hear of it.  docs/internals/core.md, Solo.
 *
 * All with the queue's lock held.
 */
#ifndef XP_CORE_SOLO_H
#define XP_CORE_SOLO_H

#include "core/entry.h"

/*
 * The edges that a change of the main entry would bring up again, for the sake
 * of these filters.  What another thread harvests just now is as good as
 * reported.
 */
static inline unsigned xp_solo_held(const struct xpoll *queue,
                                    const struct xp_slot *slot,
                                    unsigned filters)
{
	if (slot->mode != XP_MODE_EDGE || xp_exact(queue) ||
	    !(slot->delivered.spent || queue->threads.waiters > 0))
		return 0;
	return slot->modes.clear & slot->enabled & slot->armed & ~slot->solo & ~filters;
}

/*
 * Have the kernel report the state of these enabled filters, and of no edge
 * but theirs.  A result < 0 as that of xp_entry_push.
 */
int xp_solo_report(struct xpoll *queue, int fd, struct xp_slot *slot,
                   unsigned filters);

/* An ADD of these filters; the slot is one of xp_slot_holds_edges. */
int xp_solo_add(struct xpoll *queue, int fd, struct xp_slot *slot,
                unsigned filters);

#endif
