/* Counts and errors in events: XPOLL_NOTE_COUNT and XPOLL_NOTE_SOERR. */
#ifndef XP_CORE_COUNT_H
#define XP_CORE_COUNT_H

#include "core/slot.h"

/*
 * Fill in this event of the slot's.  has_first: the array has another one before it.  aborted:
 * the descriptor is a listener of TCP's that was shut down.
 */
void xp_event_count(struct xpoll *queue, int fd, struct xp_slot *slot, struct xpoll_event *event,
                    bool has_first, bool aborted);

#endif
