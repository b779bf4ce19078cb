/* Counts and errors in events: XPOLL_NOTE_COUNT and XPOLL_NOTE_SOERR. */
#ifndef XP_CORE_COUNT_H
#define XP_CORE_COUNT_H

#include "core/slot.h"

/*
 * Store the count or the socket error in an event of the slot, if the filter requested it.
 * has_first: the element before it is another event of this wait.  aborted: the descriptor was a
 * TCP listener and was shut down.
 */
void xp_event_count(struct xpoll *queue, int fd, struct xp_slot *slot, struct xpoll_event *event,
                    bool has_first, bool aborted);

#endif
