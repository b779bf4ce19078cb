/* Counts and errors in events: XPOLL_NOTE_COUNT and XPOLL_NOTE_SOERR. */
#ifndef XP_CORE_COUNT_H
#define XP_CORE_COUNT_H

#include "core/slot.h"

/*
 * Store the count (XPOLL_NOTE_COUNT) and the socket error (XPOLL_NOTE_SOERR) in an event of the
 * slot, if the filter requested them.  has_first: the event is not the first one in the array, so
 * the element before it may be compared.  aborted: fd was a TCP listener and was shut down.
 */
void xp_event_count(struct xpoll *queue, int fd, struct xp_slot *slot, struct xpoll_event *event,
                    bool has_first, bool aborted);

#endif
