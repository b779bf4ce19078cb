/*
 * The work of the kqueue drop-in before and after a close: see common/close.h.
 *
 * A kqueue drops the registrations of a descriptor that is closed, and ends when its own descriptor
 * is closed.  Linux does not report closes.  Closes that this library does not see, inside the C
 * library or by system calls of the program's own, are detected later: see
 * docs/internals/drop-ins.md.
 */
#ifndef KQ_CLOSING_H
#define KQ_CLOSING_H

#include "kq.h"

struct closing {
	struct kq *kq; /* the queue that the descriptor referred to, or NULL */
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
	(void)rc; /* if fd is still open, later calls detect that */
	if (XP_UNLIKELY(closing->kq))
		kq_close_end(closing->kq);
}

/* The next call that uses the duplicate detects what it refers to. */
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
