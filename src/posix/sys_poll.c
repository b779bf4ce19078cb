/* Waiting with poll(2), where it takes nanoseconds and a mask of signals. */
#include "sys/sys.h"

#include <time.h>

#include "sys/libcall.h"
#include "sys/pollbits.h"

int xp_sys_poll_wait(struct pollfd *fds, size_t count, int64_t deadline_ns,
                     const sigset_t *mask)
{
	struct timespec left;
	int rc;

	xp_pollbits_known(fds, count);
	/* A device that refuses bits is not asked for them again. */
	do
		rc = XP_LIBCALL(ppoll(fds, (nfds_t)count,
		                      xp_sys_time_masked(deadline_ns, mask, &left), mask));
	while (rc > 0 && (rc = xp_pollbits_accept(fds, count, rc)) == 0);
	return rc;
}

int xp_sys_poll_refused(void)
{
	struct timespec zero = {0};
	int rc = xp_sys_poll_now(NULL, 0);

	if (rc == 0)
		rc = XP_UNCANCELLED(ppoll(NULL, 0, &zero, NULL));
	return rc == -EINTR ? 0 : rc;
}
