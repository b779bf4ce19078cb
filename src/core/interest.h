/*
 * Interest: which filters of a descriptor are wanted, and how the kernel is
 * made to report them with as few system calls as the contract allows.
 * docs/internals/core.md has the rules; here are the moves.
 *
 * All with the queue's lock held.  Results are 0 or a negative errno value.
 */
#ifndef XP_CORE_INTEREST_H
#define XP_CORE_INTEREST_H

#include "core/arm.h"
#include "core/candidate.h"
#include "core/entry.h"
#include "core/queue.h"
#include "core/solo.h"

/* Forget these filters of a slot, without the kernel. */
void xp_interest_remove_filters(struct xpoll *queue, struct xp_slot *slot,
                                unsigned filters);

/*
 * Make the kernel report by itself what is wanted now, these filters at least:
 * used when another thread waits, or when the state may not be checked.
 */
int xp_interest_publish(struct xpoll *queue, int fd, struct xp_slot *slot,
                        unsigned filters);

/* These were checked and are not ready, and the kernel has not got them. */
void xp_interest_cover(struct xpoll *queue, int fd, struct xp_slot *slot,
                       unsigned filters);

/* A check of what was delivered found nothing. */
void xp_interest_quiet(struct xpoll *queue, int fd, struct xp_slot *slot);

/* How the kernel should watch the slot as it stands. */
void xp_interest_choose(const struct xpoll *queue, const struct xp_slot *slot,
                        enum xp_mode *mode, unsigned *filters);

/* Does it choose this?  For the assertions of those that know without asking. */
bool xp_interest_chosen(const struct xpoll *queue, const struct xp_slot *slot,
                        enum xp_mode mode, unsigned filters);

/* Filters were disabled or removed; others of the slot remain. */
int xp_interest_silenced(struct xpoll *queue, int fd, struct xp_slot *slot,
                         unsigned filters);

/* Filters were enabled: the next wait reports what holds already. */
int xp_interest_wanted(struct xpoll *queue, int fd, struct xp_slot *slot,
                       unsigned filters);

/*
 * What ENABLE and DISABLE amount to where the kernel reports a registered
 * slot by edges: marks.  Everybody does this most, so it is inline.
 */
static inline void xp_interest_free_disable(struct xpoll *queue, int fd,
                                            struct xp_slot *slot,
                                            unsigned filters)
{
	xp_slot_disable(slot, filters);
	slot->history.idle_checks = 0;
	if (XP_UNLIKELY(slot->check.deferred)) {
		slot->delivered.deferred_for &= ~filters & XP_ALL_FILTERS;
		if (!slot->enabled)
			slot->check.deferred = 0;
	} else {
		xp_candidate_cancel(queue, fd, slot);
	}
}

/* false: the kernel has to hear of it after all. */
static inline bool xp_interest_free_enable(struct xpoll *queue, int fd,
                                           struct xp_slot *slot,
                                           unsigned filter, bool alone)
{
	XP_ASSERT(!alone || queue->threads.waiters == 0);
	if ((!alone && queue->threads.waiters > 0) || !(filter & slot->armed))
		return false;
	slot->enabled |= XP_SET(filter);
	slot->history.idle_checks = 0;
	slot->history.fruitless = 0;
	if (alone)
		xp_recheck_unseen(queue, fd, slot, filter);
	else
		xp_recheck_enabled(queue, fd, slot, filter);
	return true;
}

/*
 * ENABLE and DISABLE of what the kernel reports by edges: no more than marks.
 * It is what programs do most, so it is tried before all else.  filter: a set of one
 * at the most; alone: as in enter.h, known when compiled.  The slot; NULL: it is not
 * that simple, and nothing was done.
 */
static XP_INLINE struct xp_slot *xp_interest_free_change(struct xpoll *queue, int fd,
                                                         unsigned filter, bool wanted,
                                                         bool alone)
{
	struct xp_slot *slot = xp_slots_at(&queue->slots, fd);

	if (!slot || !(filter & slot->present) ||
	    slot->mode != XP_MODE_EDGE || !queue->lazy)
		return NULL;
	if (!wanted)
		xp_interest_free_disable(queue, fd, slot, filter);
	else if (!xp_interest_free_enable(queue, fd, slot, filter, alone))
		return NULL;
	xp_count(&queue->counters.changes_free);
	return slot;
}

/* The kernel reported what nobody wants now; not of the filters passed over. */
void xp_interest_fruitless(struct xpoll *queue, int fd, struct xp_slot *slot,
                           unsigned passed_over);

/*
 * A filter was handed to the caller: end it, silence it, or check it again
 * before the next wait, as its mode says.
 */
void xp_interest_handed(struct xpoll *queue, int fd, struct xp_slot *slot,
                       unsigned filter);

/* After the last of them: a one-shot entry has fired, so what is still enabled is to be checked. */
void xp_interest_fired_rest(struct xpoll *queue, int fd, struct xp_slot *slot);

#endif
