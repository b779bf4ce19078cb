/*
 * Waiting for a few descriptors where poll(2) takes neither nanoseconds nor a
 * mask of signals: by pselect(2), which takes both.
 */
#include "sys/sys.h"

#include <errno.h>
#include <sys/select.h>
#include <time.h>

#include "sys/libcall.h"

/*
 * Sleep until one of the descriptors is readable; no caller requests other bits.  Returns -EINVAL
 * for a descriptor that does not fit into a bit set of select(2).
 */
int xp_sys_poll_wait(struct pollfd *fds, size_t count, int64_t deadline_ns,
                     const sigset_t *mask)
{
	struct timespec left;
	fd_set in;
	int last = -1;
	int rc;

	FD_ZERO(&in);
	for (size_t i = 0; i < count; i++) {
		if (fds[i].fd >= FD_SETSIZE)
			return -EINVAL;
		FD_SET(fds[i].fd, &in);
		last = fds[i].fd > last ? fds[i].fd : last;
	}
	rc = XP_LIBCALL(pselect(last + 1, &in, NULL, NULL,
	                        xp_sys_time_left_masked(deadline_ns, mask, &left), mask));
	for (size_t i = 0; i < count; i++)
		fds[i].revents = rc > 0 && FD_ISSET(fds[i].fd, &in) ? POLLIN : 0;
	return rc;
}

int xp_sys_check_poll(void)
{
	return 0;
}
