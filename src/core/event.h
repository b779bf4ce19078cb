/* The event level's changes, for both of its calls. */
#ifndef XP_CORE_EVENT_H
#define XP_CORE_EVENT_H

#include "core/interest.h"
#include "core/queue.h"
#include "os/fdnum.h"

#define XP_READ_WRITE_NOTES (XPOLL_NOTE_LOWAT | XPOLL_NOTE_COUNT | \
                             XPOLL_NOTE_SOERR | XPOLL_NOTE_EXCLUSIVE)

/*
 * Apply the changes; the caller has the lock.  0: there is nothing to report,
 * and it still has it.  Else the lock is released: so many statuses are in
 * events, or it is a negative errno value.
 */
int xp_event_make(struct xpoll *queue, const struct xpoll_event *changes,
                  int nchanges, struct xpoll_event *events, int nevents);

/* xpoll_event without room for events: the changes are all there is to do. */
int xp_event_changes(struct xpoll *queue, const struct xpoll_event *changes,
                     int nchanges);

/*
 * The change that a loop makes most, with the lock held; false: it is another,
 * or not so simple, and nothing was done.
 */
static XP_INLINE bool xp_event_free_change(struct xpoll *queue,
                                           const struct xpoll_event *change)
{
	unsigned action = change->flags & ~(unsigned)XPOLL_SETUDATA;
	unsigned filter = ~(unsigned)change->filter; /* -1: 0, -2: 1 */
	int fd = xp_fd_number(change->ident);
	struct xp_slot *slot;

	_Static_assert(XPOLL_FILT_READ == ~XP_READ &&
	               XPOLL_FILT_WRITE == ~XP_WRITE, "filters in their order");
	if ((action != XPOLL_ENABLE && action != XPOLL_DISABLE) ||
	    filter > XP_WRITE || change->fflags & ~XP_READ_WRITE_NOTES || fd < 0)
		return false;
	slot = xp_interest_free_change(queue, fd, XP_BIT(filter),
	                               change->flags & XPOLL_ENABLE);
	if (slot && change->flags & XPOLL_SETUDATA)
		slot->udata[filter] = xp_udata_bits(change->udata64);
	return slot;
}

#endif
