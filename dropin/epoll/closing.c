/*
 * The functions of closing.h that are not inline.  closing_handles_dup decides whether this library
 * has to act on a dup2(2) or dup3(2), because these close their target descriptor.  closing_range
 * does close_range(2).
 */
#include "closing.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "real.h"


/*
 * Returns true if this library has to end the registrations of `number` before a dup3 of fd onto
 * `number`, or to record the duplicate afterwards.  This is so if the dup3 will succeed, and fd or
 * `number` refers to a set, an eventfd or the like, or may be registered in a set.  A dup3 that
 * fails closes nothing, so no registration may end: the code repeats the checks of dup3.
 */
bool closing_handles_dup(int fd, int number, int flags)
{
	struct rlimit limit;
	int saved = errno;
	bool handles = (number_needs_close_hook(number) || number_needs_close_hook(fd)) &&
		ep_real()->fcntl(fd, F_GETFD) >= 0 && (flags & ~O_CLOEXEC) == 0 && number >= 0 &&
		(getrlimit(RLIMIT_NOFILE, &limit) < 0 || (rlim_t)number < limit.rlim_cur);

	errno = saved;
	return handles;
}

/*
 * End the registrations of each descriptor in the range.  Close those descriptors that refer to
 * objects (sets, eventfds, timers, signalfds), because closing_end must follow the close of each.
 * The caller closes the other descriptors.
 */
static void close_objects_in_range(unsigned first, unsigned last)
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
	close_objects_in_range(first, last);
	return real_close.close_range(first, last, flags);
}
