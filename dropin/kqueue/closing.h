/*
 * What is done about a number that is closed: see common/close.h.
 *
 * kqueue drops the registrations of a number when it is closed, and ends with its
 * own.  Linux reports a close to nobody.  What is not seen, closes inside the C
 * library and bare system calls, is found out later: see docs/internals/drop-ins.md.
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

static inline void closing_part(void)
{
}

int closing_range(unsigned first, unsigned last, int flags);

#endif
