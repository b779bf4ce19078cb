/* Turns reports of the kernel, and results of checks, into records in the array of a wait. */
#ifndef XP_CORE_REPORT_H
#define XP_CORE_REPORT_H

#include "core/changes.h"

/* Give the wait its array for records: cap elements of the type that wait->format stands for. */
static inline void xp_records_begin(struct xp_wait *wait, void *array, int cap)
{
	XP_ASSERT(cap > 0);
	wait->events = array;
	wait->cap = cap;
	wait->len = 0;
}

static inline bool xp_wait_is_full(const struct xp_wait *wait)
{
	return wait->len >= wait->cap;
}

/* Count a record, which the caller fills. */
static inline void xp_record_add(struct xp_wait *wait)
{
	XP_ASSERT(wait->len < wait->cap);
	wait->len++;
}

/*
 * Prepare to deliver the reports of a call into the kernel.  more: the kernel may have further
 * reports.
 */
static inline void xp_reports_begin(struct xp_wait *wait, bool more)
{
	wait->more = more;
	wait->delivered_some = wait->has_repeats = wait->must_renew_set = false;
}

/*
 * Make the wait poll the kernel again, although the kernel returned fewer reports than there was
 * room for.
 */
static inline void xp_reports_expect_more(struct xp_wait *wait)
{
	wait->more = true;
}

/* Handle one report of the kernel: deliver it, have the state checked by poll(2), or drop it. */
void xp_report(struct xpoll *queue, struct xp_wait *wait, const struct xp_fired *fired);

/*
 * Deliver these bits of a descriptor to the enabled filters among `about`, the filters that the
 * report or the check was for.
 */
void xp_deliver(struct xpoll *queue, struct xp_wait *wait, int fd, struct xp_slot *slot,
                uint32_t events, unsigned about);

/*
 * Called after a delivery of filters without CLEAR, ONESHOT and DISPATCH: has the next wait check
 * those that the kernel does not report again, because their entry is edge-triggered.
 */
static XP_INLINE void xp_recheck_after_delivery(struct xpoll *queue, int fd, struct xp_slot *slot,
                                                unsigned filters)
{
	if (slot->mode != XP_MODE_EDGE)
		filters &= slot->solo;
	if (filters)
		xp_candidate_add_delivered(queue, fd, slot, filters);
}

/*
 * Called after a delivery of enabled filters: applies their modes.  ONESHOT filters end, DISPATCH
 * filters are disabled, and level-triggered filters that the kernel does not report again are
 * checked by the next wait.
 */
static XP_INLINE void xp_finish_delivery(struct xpoll *queue, int fd, struct xp_slot *slot,
                                         unsigned filters)
{
	if (XP_UNLIKELY(filters & (slot->oneshot | slot->dispatch)))
		filters = xp_change_delivered(queue, fd, slot, filters);
	if (filters & slot->clear & ~(unsigned)slot->solo)
		slot->edge_delivered = 1;
	xp_recheck_after_delivery(queue, fd, slot, filters & ~(unsigned)slot->clear);
}

/*
 * The program gets this record of xpoll_pwait or xpoll_wait now: apply the modes of its filters,
 * such as ONESHOT.  Returns the record's bits of poll(2), and stores the udata of the first filter
 * to which they belong; 0: the registration has ended or is disabled.
 */
uint32_t xp_ready_take(struct xpoll *queue, const struct xpoll_ready *ready, union xp_udata *udata);
/*
 * Take all records in the array of xpoll_pwait: in each, replace the token by the udata, and store
 * the descriptor and the bits for the program.  Removes records whose registrations have ended or
 * were disabled since.  Returns the number of records left.
 */
int xp_ready_finish(struct xpoll *queue, struct xp_wait *wait);

#endif
