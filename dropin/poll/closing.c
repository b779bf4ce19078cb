/*
 * The functions of closing.h that are not inline: closes of descriptors that are registered with
 * epoll, and of ranges.
 */
#include "closing.h"

#include <limits.h>

#include "common/real.h"

void closing_detach(int fd, uint64_t relying)
{
	/* A child of vfork(2) shares the parent's memory, but closes its own descriptors only. */
	if (!pool_is_ours())
		return;
	/*
	 * Remove fd from the epoll instances: if a duplicate of fd stays open, the kernel would
	 * keep the entry of fd after the close.
	 */
	pool_detach(fd, relying);
	numbers_clear_and_log(fd);
}

/*
 * Close the descriptors from first to last, except the epoll descriptors of sets.  All epoll
 * descriptors are below `known`, so only the descriptors below `known` are checked.
 */
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
		uint64_t relying = numbers_relying_sets((int)fd);

		if (relying == 0)
			continue;
		pool_detach((int)fd, relying);
		numbers_clear_and_log((int)fd);
	}
	rc = close_between(first, last, known);
	numbers_range_end();
	return rc;
}
