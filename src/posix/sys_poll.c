/* Waits with ppoll(2), which takes nanoseconds and a signal mask. */
#include "sys/sys.h"

#include <time.h>

#include "sys/libcall.h"
#include "sys/pollbits.h"

int xp_sys_poll_wait(struct pollfd *fds, size_t count, int64_t deadline_ns,
                     const sigset_t *mask)
{
	struct timespec left;
	int rc;

	xp_pollbits_strip_rdhup(fds, count);
	/*
	 * If a device refuses bits, xp_pollbits_retry_refused removes them; if no other descriptor
	 * was ready, wait again.
	 */
	do
		rc = XP_LIBCALL(ppoll(fds, (nfds_t)count,
		                      xp_sys_time_left_masked(deadline_ns, mask, &left), mask));
	while (rc > 0 && (rc = xp_pollbits_retry_refused(fds, count, rc)) == 0);
	return rc;
}

int xp_sys_check_poll(void)
{
	struct timespec zero = {0};
	int rc = xp_sys_poll_now(NULL, 0);

	if (rc == 0)
		rc = XP_UNCANCELLED(ppoll(NULL, 0, &zero, NULL));
	return rc == -EINTR ? 0 : rc;
}
