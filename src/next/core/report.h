/* From a report, or what a check has found, to a record in what a wait fills. */
#ifndef XP_CORE_REPORT_H
#define XP_CORE_REPORT_H

#include "core/queue.h"

static inline bool xp_wait_is_full(const struct xp_wait *wait)
{
	return wait->len >= wait->cap;
}

/* A report of the kernel. */
void xp_report(struct xpoll *queue, struct xp_wait *wait, const struct xp_fired *fired);

/*
 * A descriptor was found in this state: deliver it to the enabled filters among `limit`,
 * which are those that the report or check was about.
 */
void xp_deliver(struct xpoll *queue, struct xp_wait *wait, int fd, struct xp_slot *slot,
                uint32_t events, unsigned limit);

/* The program has got these filters: their modes take effect. */
void xp_handed(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters);

#endif
