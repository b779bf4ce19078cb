/* The event level's changes, for both of its calls. */
#ifndef XP_CORE_EVENT_H
#define XP_CORE_EVENT_H

#include "core/interest.h"
#include "core/queue.h"
#include "os/fdnum.h"

#define XP_READ_WRITE_NOTES (XPOLL_NOTE_LOWAT | XPOLL_NOTE_COUNT | \
                             XPOLL_NOTE_SOERR | XPOLL_NOTE_EXCLUSIVE)

/*
 * Enter the queue and apply the changes.  0: without anything to report, and
 * the caller is inside; else outside: statuses in events, or a negative errno.
 */
int xp_event_begin(struct xpoll *queue, const struct xpoll_event *changes,
                   int nchanges, struct xpoll_event *events, int nevents);

/* xpoll_event without room for events: the changes are all there is to do. */
int xp_event_changes(struct xpoll *queue, const struct xpoll_event *changes,
                     int nchanges);

/* May it be no more than a mark?  Said without a look at the queue. */
static XP_INLINE bool xp_event_may_mark(const struct xpoll_event *change)
{
	unsigned action = change->flags & ~(unsigned)XPOLL_SETUDATA;
	unsigned filter = ~(unsigned)change->filter; /* -1: 0, -2: 1 */

	_Static_assert(XPOLL_FILT_READ == ~XP_READ &&
	               XPOLL_FILT_WRITE == ~XP_WRITE, "filters in their order");
	return (action == XPOLL_ENABLE || action == XPOLL_DISABLE) &&
		filter <= XP_WRITE && !(change->fflags & ~XP_READ_WRITE_NOTES);
}

/*
 * The change that a loop makes most, with the lock held; false: it is another,
 * or not so simple, and nothing was done.
 */
static XP_INLINE bool xp_event_mark(struct xpoll *queue,
                                    const struct xpoll_event *change)
{
	unsigned filter = ~(unsigned)change->filter;
	int fd = xp_fd_number(change->ident);
	struct xp_slot *slot;

	if (!xp_event_may_mark(change) || fd < 0)
		return false;
	slot = xp_interest_mark(queue, fd, XP_BIT(filter),
	                        change->flags & XPOLL_ENABLE);
	if (slot && change->flags & XPOLL_SETUDATA)
		slot->udata[filter] = xp_udata_bits(change->udata64);
	return slot;
}

#endif
