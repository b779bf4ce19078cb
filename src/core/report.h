/* From a report, or what a check has found, to a record in what a wait fills. */
#ifndef XP_CORE_REPORT_H
#define XP_CORE_REPORT_H

#include "core/candidates.h"

/* A wait begins to fill an array. */
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

/* Count a record that the caller has filled, or is about to fill. */
static inline void xp_record_add(struct xp_wait *wait)
{
	XP_ASSERT(wait->len < wait->cap);
	wait->len++;
}

/* Deliver reports of the kernel now.  more: the kernel may have others as well. */
static inline void xp_reports_begin(struct xp_wait *wait, bool more)
{
	wait->more = more;
	wait->delivered_some = wait->repeated = wait->renew = false;
}

/* Ask the kernel once more, though it has returned fewer reports than there was room for. */
static inline void xp_reports_go_on(struct xp_wait *wait)
{
	wait->more = true;
}

/* A report of the kernel. */
void xp_report(struct xpoll *queue, struct xp_wait *wait, const struct xp_fired *fired);

/*
 * A descriptor was found in this state: deliver it to the enabled filters among `about`,
 * which are those that the report or check was about.
 */
void xp_deliver(struct xpoll *queue, struct xp_wait *wait, int fd, struct xp_slot *slot,
                uint32_t events, unsigned about);

/* The program has got these filters, which have no CLEAR, ONESHOT or DISPATCH: have the next wait
 * check those that the kernel does not report again. */
static XP_INLINE void xp_handed_plain(struct xpoll *queue, int fd, struct xp_slot *slot,
                                      unsigned filters)
{
	if (slot->mode != XP_MODE_EDGE)
		filters &= slot->solo;
	if (filters)
		xp_check_again(queue, fd, slot, filters);
}

/* The program has got these filters, which are enabled: their modes take effect. */
void xp_handed_by_mode(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters);
static XP_INLINE void xp_handed(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters)
{
	if (XP_UNLIKELY(filters & (slot->oneshot | slot->dispatch))) {
		xp_handed_by_mode(queue, fd, slot, filters);
		return;
	}
	if (filters & slot->clear & ~(unsigned)slot->solo)
		slot->spent = 1;
	xp_handed_plain(queue, fd, slot, filters & ~(unsigned)slot->clear);
}

#endif
