/*
 * The work before and after the close of a descriptor: see common/close.h.
 *
 * A set drops the registrations of a descriptor when it is closed, and ends when its own last
 * one is.  A close by a bare system call, or inside the C library, is not seen.
 */
#ifndef EP_CLOSING_H
#define EP_CLOSING_H

#include "ep.h"

struct closing {
	struct ep_object *object; /* that loses the descriptor; NULL: none */
	int fd;
};

static inline bool closing_refused(int fd)
{
	(void)fd;
	return false;
}

bool closing_heeds(int fd, int number, int flags);

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

/* fd was duplicated as number, whose former file is gone. */
static inline void closing_duplicated(int fd, int number)
{
	ep_duplicated(fd, number);
}

static inline void closing_part(void)
{
}

int closing_range(unsigned first, unsigned last, int flags);

#endif
