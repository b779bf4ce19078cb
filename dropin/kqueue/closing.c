/* The functions of closing.h that are not inline: closes by dup2(2) and dup3(2), and of ranges. */
#include "closing.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "common/numbers.h"

/*
 * Returns true if a dup3 of fd onto `number` has to be handled: it will close `number`, which is a
 * queue or may be registered in one.  A dup3 that fails closes nothing, so it must end no
 * registration; the conditions here are those that dup3 checks.
 */
bool closing_handles_dup(int fd, int number, int flags)
{
	struct rlimit limit;
	int saved = errno;
	bool handles = number_needs_close_hook(number) && fcntl(fd, F_GETFD) >= 0 &&
		(flags & ~O_CLOEXEC) == 0 &&
		(getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
		 (rlim_t)number < limit.rlim_cur);

	errno = saved;
	return handles;
}

/*
 * Handle the close of each descriptor in the range that is registered or a queue.  Descriptors of
 * queues are closed here, because kq_close_end must follow the close; the caller closes the others.
 */
static void kq_close_queues_in_range(unsigned first, unsigned last)
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
	kq_close_queues_in_range(first, last);
	return real_close.close_range(first, last, flags);
}
