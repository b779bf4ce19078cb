/*
 * The work before and after the close of a number: see common/close.h.
 *
 * A kqueue drops the registrations of a number when it is closed, and ends when its own number
 * is.  Linux reports a close to nobody.  Closes that are not seen, inside the C library or by
 * bare system calls, are found out later: see docs/internals/drop-ins.md.
 */
#ifndef KQ_CLOSING_H
#define KQ_CLOSING_H

#include "kq.h"

struct closing {
	struct kq *kq; /* whose number it was; NULL: no queue's */
};

static inline bool closing_refused(int fd)
{
	(void)fd;
	return false;
}

bool closing_heeds(int fd, int number, int flags);

static inline void closing_begin(struct closing *closing, int fd)
{
	closing->kq = kq_close_begin(fd);
}

static inline void closing_end(const struct closing *closing, int rc)
{
	(void)rc; /* If it is open still, that is found out. */
	if (XP_UNLIKELY(closing->kq))
		kq_close_end(closing->kq);
}

/* The duplicate is an unknown number until a call uses it. */
static inline void closing_duplicated(int fd, int number)
{
	(void)fd;
	(void)number;
}

static inline void closing_part(void)
{
}

int closing_range(unsigned first, unsigned last, int flags);

#endif
