/* Closes by dup2(2), which replaces a descriptor, and of ranges of descriptors. */
#include "closing.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "real.h"


/* A dup3 that fails closes nothing, and the registrations that were dropped would be lost. */
bool closing_heeds(int fd, int number, int flags)
{
	struct rlimit limit;
	int saved = errno;
	bool heeds = (number_concerns(number) || number_concerns(fd)) &&
		ep_real()->fcntl(fd, F_GETFD) >= 0 && (flags & ~O_CLOEXEC) == 0 && number >= 0 &&
		(getrlimit(RLIMIT_NOFILE, &limit) < 0 || (rlim_t)number < limit.rlim_cur);

	errno = saved;
	return heeds;
}

/* Close the descriptors of objects one by one, and end the registrations of all others. */
static void close_some(unsigned first, unsigned last)
{
	unsigned end = numbers_end();

	for (unsigned fd = first; fd < end && fd <= last; fd++) {
		struct closing closing;

		closing_begin(&closing, (int)fd);
		if (closing.object)
			real_close.close((int)fd);
		closing_end(&closing, 0);
	}
}

int closing_range(unsigned first, unsigned last, int flags)
{
	close_some(first, last);
	return real_close.close_range(first, last, flags);
}
