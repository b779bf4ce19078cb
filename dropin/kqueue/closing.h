/*
 * The work of the kqueue drop-in before and after a descriptor is closed: see common/close.h.
 *
 * A close ends the registrations of the descriptor in all kqueues, and a kqueue ends when its last
 * descriptor is closed.  Linux does not report closes, so this library exports close(2) and the
 * like.  A close inside the C library, or by a system call of the program's own, is detected later:
 * see docs/internals/drop-ins.md.
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

/* Returns true if a dup3 of fd onto `number` has to be handled: see closing.c. */
bool closing_handles_dup(int fd, int number, int flags);

static inline void closing_begin(struct closing *closing, int fd)
{
	closing->kq = kq_close_begin(fd);
}

static inline void closing_end(const struct closing *closing, int rc)
{
	/*
	 * closing_begin need not be undone if dup3 has failed and the descriptor still refers to
	 * its queue: the next call with that descriptor records the queue again.
	 */
	(void)rc;
	if (XP_UNLIKELY(closing->kq))
		kq_close_end(closing->kq);
}

/*
 * Called after dup2 and dup3.  Nothing to do: if fd refers to a queue, the next call with the
 * duplicate records the queue for it (kq_hold).
 */
static inline void closing_duplicated(int fd, int number)
{
	(void)fd;
	(void)number;
}

/* Called before close_range(2) gives the thread its own table of descriptors; nothing to do. */
static inline void closing_before_unshare(void)
{
}

/*
 * Do close_range(2): end the registrations of the descriptors in the range, close those that refer
 * to queues, then have the C library close the rest of the range.
 */
int closing_range(unsigned first, unsigned last, int flags);

#endif
