/*
 * The functions that the epoll drop-in calls before and after a descriptor is closed: see
 * common/close.h.
 *
 * A close ends the registrations of the descriptor in all sets, and a set ends when its last
 * descriptor is closed.  The library does not see a close by a bare system call, or inside the C
 * library.
 */
#ifndef EP_CLOSING_H
#define EP_CLOSING_H

#include "ep.h"

struct closing {
	struct ep_object *object; /* the set, eventfd, timer or signalfd of fd; NULL: none */
	int fd;
};

static inline bool closing_refused(int fd)
{
	(void)fd;
	return false;
}

/*
 * Returns true if this library has to handle a dup2 or dup3 of fd onto `number`: the call will
 * succeed, and fd or `number` refers to an object (a set, an eventfd or the like) or may be
 * registered in a set.
 */
bool closing_handles_dup(int fd, int number, int flags);

static inline void closing_begin(struct closing *closing, int fd)
{
	closing->fd = fd;
	closing->object = ep_close_begin(fd);
}

static inline void closing_end(const struct closing *closing, int rc)
{
	(void)rc;
	if (XP_UNLIKELY(closing->object))
		ep_close_end(closing->object);
}

/*
 * Called after a dup2 or dup3 of fd onto `number`: if fd refers to a set, an eventfd or the like,
 * records that `number` refers to the same object.
 */
static inline void closing_duplicated(int fd, int number)
{
	ep_duplicated(fd, number);
}

/*
 * Called before close_range(2) gives the thread its own table of descriptors; this library has
 * nothing to do then.
 */
static inline void closing_before_unshare(void)
{
}

/*
 * Do close_range(2): end the registrations of the descriptors in the range, close those that refer
 * to sets, eventfds, timers or signalfds, and have the C library close the others.
 */
int closing_range(unsigned first, unsigned last, int flags);

#endif
