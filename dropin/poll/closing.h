/*
 * The work before and after the close of a number: see common/close.h.
 *
 * The table of numbers is informed before and after, so that no set goes on relying
 * on a number that stands for another file by then.  And nothing closes our own
 * descriptors: to the program they are not open.
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
	return true; /* If it fails the number is doubted for nothing. */
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

/* fd is about to be closed, and these sets rely on it. */
void closing_detach(int fd, uint64_t relying);

/* Inline, as closing_end: after a system call each return is mispredicted. */
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
