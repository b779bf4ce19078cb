/*
 * The list of candidates: slots whose state a wait checks by poll(2) before it may block.
 *
 * A slot is in the list at most once, linked by slot.next.  The list is first in, first out, but
 * slots go back to the head if a check had no room for their events, or if xpoll_revents has not
 * returned their records from the batch of an xpoll_wait.  A check skips filters that were disabled
 * or deleted since.  The functions xp_candidate_add_... below make a slot a candidate.
 */
#ifndef XP_CORE_CANDIDATES_H
#define XP_CORE_CANDIDATES_H

#include "core/slot.h"

/*
 * Set the slot's cutoff.  Called if filters were enabled, or their entry was changed, without a new
 * arming (the number in the tokens of reports).  A report that a thread fetched before the cutoff
 * may be about a state that was delivered already, so it only leads to a check by poll(2).
 */
static inline void xp_slot_outdate_reports(struct xpoll *queue, struct xp_slot *slot)
{
	slot->cutoff = ++queue->last_cutoff;
	slot->has_cutoff = true;
}

static inline bool xp_has_candidates(const struct xpoll *queue)
{
	return queue->candidates.len > 0;
}

/*
 * Append the slot to the list, if it is not in the list yet, so that the next wait checks the
 * filters that the caller has put into slot->check, recheck or deferred_for.
 */
static XP_INLINE void xp_candidate_append(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	if (slot->next != XP_UNQUEUED)
		return;
	slot->next = XP_LAST;
	if (queue->candidates.len++ == 0)
		queue->candidates.head = fd;
	else
		xp_slots_get(queue, queue->candidates.tail)->next = fd;
	queue->candidates.tail = fd;
}

/*
 * Remove the slot from the list of candidates if it is the only one and has no enabled filter and
 * no undelivered bits (deferred_for): so the next wait need not check the list.
 */
static inline void xp_candidate_cancel(struct xpoll *queue, struct xp_slot *slot)
{
	if (slot->next == XP_LAST && queue->candidates.len == 1 &&
	    !(slot->enabled | slot->deferred_for)) {
		slot->next = XP_UNQUEUED;
		queue->candidates.len = 0;
	}
}

/*
 * Insert the slot at the head of the list, if it is not in the list: a check had no room for its
 * events, or xpoll_revents has not returned the slot's record.
 */
void xp_candidate_push(struct xpoll *queue, int fd, struct xp_slot *slot);
/*
 * Remove the first candidate (slot to check) from the list.  Returns its descriptor, and stores the
 * slot in *slot.
 */
int xp_candidate_pop(struct xpoll *queue, struct xp_slot **slot);

/*
 * Make the slot a candidate for filters whose descriptor the program has just named, by enabling
 * them, or the kernel has just verified, by a change of its entry.  The check does not verify that
 * the descriptor still refers to the registered file.
 */
static XP_INLINE void xp_candidate_add_enabled(struct xpoll *queue, int fd, struct xp_slot *slot,
                                               unsigned filters)
{
	xp_slot_outdate_reports(queue, slot);
	XP_ASSERT(!(filters & ~(unsigned)slot->present));
	slot->check |= XP_SET(filters);
	xp_candidate_append(queue, fd, slot);
}

/*
 * Make the slot a candidate for filters that the program has not just named: they were ready at
 * their last check or report, or a report may have been lost.  The check verifies that the
 * descriptor was not reused for another file since.
 */
static XP_INLINE void xp_candidate_add_delivered(struct xpoll *queue, int fd, struct xp_slot *slot,
                                     unsigned filters)
{
	XP_ASSERT(!(filters & ~(unsigned)slot->present));
	slot->recheck |= XP_SET(filters);
	xp_candidate_append(queue, fd, slot);
}

/*
 * Called if these bits of a report or check found no room in the array of the wait.  If poll(2) may
 * check the file, has the next wait check it; otherwise stores the bits in slot->deferred for the
 * next wait.
 */
void xp_defer_delivery(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters,
                       uint32_t events);

/*
 * Have the next wait check all enabled filters in edge-triggered or one-shot entries by poll(2): a
 * thread may have lost a report, and the kernel does not repeat the report of such an entry.
 */
void xp_candidates_add_edges(struct xpoll *queue);
/*
 * Record that xpoll_event ignored a hang-up or an error of this slot, which xpoll_pwait and
 * xpoll_wait have to report.
 */
static inline void xp_note_ignored_hangup(struct xpoll *queue, struct xp_slot *slot)
{
	slot->hangup_ignored = queue->hangup_ignored = true;
}
/*
 * Called at the start of a wait of xpoll_pwait or xpoll_wait: make candidates of the slots for
 * which xp_note_ignored_hangup was called, so that this wait checks them.
 */
void xp_candidates_add_hangups(struct xpoll *queue);

/*
 * Returns true if the queue is lazy (epoll) and poll(2) clears the bits that it returns for this
 * file, for all other callers as well (XP_KIND_CLEARED).  Then slot->deferred holds the bits that
 * poll(2) returned and no filter has received.
 */
static inline bool xp_poll_clears(const struct xpoll *queue, const struct xp_slot *slot)
{
	return slot->kind == XP_KIND_CLEARED && queue->lazy;
}
/*
 * Call before a change of the kernel's entry.  The change makes the kernel poll the file, so, if
 * poll(2) clears the bits of this file, poll the file first and keep the bits in slot->deferred.
 */
void xp_defer_before_change(struct xpoll *queue, int fd, struct xp_slot *slot);
/*
 * If poll(2) clears the bits of this file, keep those bits of a report in slot->deferred that
 * belong to disabled filters.
 */
void xp_defer_for_disabled(struct xpoll *queue, int fd, struct xp_slot *slot, uint32_t events);

#endif
