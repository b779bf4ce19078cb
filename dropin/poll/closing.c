/* Closes of descriptors: the slow part of closing.h, and ranges of descriptors. */
#include "closing.h"

#include <limits.h>

#include "common/real.h"

void closing_detach(int fd, uint64_t relying)
{
	/* A child of vfork(2) shares this memory, but closes descriptors of its own. */
	if (!pool_is_ours())
		return;
	/*
	 * Remove the entry from the epoll instance: it would outlive the close while a duplicate is
	 * open.
	 */
	pool_detach(fd, relying);
	numbers_close_clear(fd);
}

/* Closes the range, except our own descriptors, all of which are below `known`. */
static int close_between(unsigned first, unsigned last, unsigned known)
{
	unsigned from = first;

	for (unsigned fd = first; fd < known; fd++) {
		if (!pool_keeps((int)fd))
			continue;
		if (fd > from && real_close.close_range(from, fd - 1, 0) < 0)
			return -1;
		from = fd + 1;
	}
	return from <= last ? real_close.close_range(from, last, 0) : 0;
}

int closing_range(unsigned first, unsigned last, int flags)
{
	unsigned known;
	int rc;

	if (numbers_len == 0 || !pool_is_ours())
		return real_close.close_range(first, last, flags);
	known = numbers_range_begin(last < UINT_MAX ? last + 1 : last);
	for (unsigned fd = first; fd < known; fd++) {
		uint64_t relying = numbers_relying((int)fd);

		if (relying == 0)
			continue;
		pool_detach((int)fd, relying);
		numbers_close_clear((int)fd);
	}
	rc = close_between(first, last, known);
	numbers_range_end();
	return rc;
}
