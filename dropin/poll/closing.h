/*
 * The work of the poll drop-in before and after a close: see common/close.h.
 *
 * The table of numbers is updated before and after, so that no set relies on a descriptor that
 * refers to another file by then.  The program cannot close our own descriptors: to it they are not
 * open.
 */
#ifndef DROPIN_CLOSING_H
#define DROPIN_CLOSING_H

#include "base/compiler.h"
#include "numbers.h"
#include "pool.h"
#include "sys/sys.h"

struct closing {
	int fd;
	bool was_ours;
};

static inline bool closing_refused(int fd)
{
	return XP_UNLIKELY(numbers_is_own(fd)) && pool_keeps(fd);
}

static inline bool closing_heeds(int fd, int number, int flags)
{
	(void)fd;
	(void)number;
	(void)flags;
	return true; /* if the close fails, the sets register the descriptor again */
}

static inline void closing_duplicated(int fd, int number)
{
	(void)fd;
	(void)number;
}

static inline void closing_part(void)
{
	pool_part();
}

/* Remove fd, which is about to be closed, from the epoll instances of the sets that rely on it. */
void closing_detach(int fd, uint64_t relying);

/* Inline, like closing_end: after a system call the processor mispredicts each return. */
static inline void closing_begin(struct closing *closing, int fd)
{
	uint64_t relying;

	closing->fd = fd;
	closing->was_ours = closing_refused(fd);
	if (XP_UNLIKELY(closing->was_ours))
		pool_lost(fd);
	if (!numbers_has(fd))
		return;
	relying = numbers_close_begin(fd);
	if (XP_UNLIKELY(relying != 0))
		closing_detach(fd, relying);
}

static inline void closing_end(const struct closing *closing, int rc)
{
	/*
	 * dup2(2) or dup3(2) onto the epoll descriptor of a set has failed.  The set has been
	 * detached from this descriptor, and to the program the number was not open: close it.
	 */
	if (XP_UNLIKELY(closing->was_ours && rc < 0))
		xp_sys_close(closing->fd);
	if (numbers_has(closing->fd))
		numbers_close_end(closing->fd);
}

int closing_range(unsigned first, unsigned last, int flags);

#endif
