/*
 * The work of the poll drop-in before and after a descriptor is closed: see common/close.h.
 *
 * Before the close the descriptor is removed from the sets (pool.h) that have registered it with
 * epoll; each registers it again in a later call, because the number may refer to another file by
 * then.  The epoll descriptors of this library stay open if the program closes them: close(2) fails
 * as if they were not open, and close_range(2) leaves them out.
 */
#ifndef DROPIN_CLOSING_H
#define DROPIN_CLOSING_H

#include "base/compiler.h"
#include "numbers.h"
#include "pool.h"
#include "sys/sys.h"

struct closing {
	int fd;        /* the descriptor that a call is about to close, or to replace by dup2(2) */
	bool was_ours; /* fd is the epoll descriptor of a set, which dup2(2) or dup3(2) replaces */
};

/* Returns true if fd is the epoll descriptor of a set, which close(2) must not close. */
static inline bool closing_refused(int fd)
{
	return XP_UNLIKELY(numbers_is_own(fd)) && pool_keeps(fd);
}

static inline bool closing_handles_dup(int fd, int number, int flags)
{
	(void)fd;
	(void)number;
	(void)flags;
	/*
	 * Handle each dup2 and dup3 like a close of `number`.  If the call fails, the sets that
	 * have registered `number` with epoll only have to register it again.
	 */
	return true;
}

static inline void closing_duplicated(int fd, int number)
{
	(void)fd;
	(void)number;
}

static inline void closing_before_unshare(void)
{
	pool_stop_for_unshare();
}

/*
 * Remove fd, which is about to be closed, from the epoll instances of the sets that have registered
 * it: those whose bit in `relying` is set (numbers.h).  Clears these bits of fd, and writes fd to
 * the log of closes.  Does nothing in a child of vfork(2).
 */
void closing_detach(int fd, uint64_t relying);

/*
 * Called before a close.  This and closing_end are inline, because after a system call the
 * processor mispredicts each return: the kernel has overwritten its predictions.
 */
static inline void closing_begin(struct closing *closing, int fd)
{
	uint64_t relying;

	closing->fd = fd;
	closing->was_ours = closing_refused(fd);
	if (XP_UNLIKELY(closing->was_ours))
		pool_number_reused(fd);
	if (!numbers_has(fd))
		return;
	relying = numbers_close_begin(fd);
	if (XP_UNLIKELY(relying != 0))
		closing_detach(fd, relying);
}

static inline void closing_end(const struct closing *closing, int rc)
{
	/*
	 * dup2(2) or dup3(2) onto the epoll descriptor of a set has failed.  closing_begin has
	 * given the descriptor up, and for the program the number was not open: close it.
	 */
	if (XP_UNLIKELY(closing->was_ours && rc < 0))
		xp_sys_close(closing->fd);
	if (numbers_has(closing->fd))
		numbers_close_end(closing->fd);
}

/* Do a close_range(2), but leave the epoll descriptors of the sets open. */
int closing_range(unsigned first, unsigned last, int flags);

#endif
