/* Closes of descriptors by dup2(2), and of ranges of descriptors. */
#include "closing.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "common/numbers.h"

/*
 * Returns true if a dup3 onto a descriptor has to be handled.  A dup3 that will fail closes
 * nothing, so no registration may be dropped for it.
 */
bool closing_heeds(int fd, int number, int flags)
{
	struct rlimit limit;
	int saved = errno;
	bool heeds = number_concerns(number) && fcntl(fd, F_GETFD) >= 0 &&
		(flags & ~O_CLOEXEC) == 0 &&
		(getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
		 (rlim_t)number < limit.rlim_cur);

	errno = saved;
	return heeds;
}

/* Close the descriptors that concern queues one by one; the caller closes the others. */
static void kq_close_some(unsigned first, unsigned last)
{
	unsigned end = numbers_end();

	for (unsigned fd = first; fd < end && fd <= last; fd++) {
		struct closing closing;

		closing_begin(&closing, (int)fd);
		if (closing.kq)
			real_close.close((int)fd);
		closing_end(&closing, 0);
	}
}

int closing_range(unsigned first, unsigned last, int flags)
{
	kq_close_some(first, last);
	return real_close.close_range(first, last, flags);
}
