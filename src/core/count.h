/* What an event says beyond readiness: XPOLL_NOTE_COUNT and XPOLL_NOTE_SOERR. */
#ifndef XP_CORE_COUNT_H
#define XP_CORE_COUNT_H

#include "core/slot.h"

/*
 * Fill in the last event of the wait's array, which is of this filter.  aborted: the
 * descriptor is a listener of TCP's that was shut down.
 */
void xp_event_count(struct xpoll *queue, struct xp_wait *wait, int fd, struct xp_slot *slot,
                    unsigned filter, bool aborted);

#endif
