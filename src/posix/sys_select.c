/* Converts deadlines to timeouts, and waits with pselect(2). */
#include "sys/sys.h"

#include <sys/select.h>
#include <time.h>

#include "base/time.h"
#include "sys/libcall.h"
#include "sys/pollbits.h"

const struct timespec *xp_sys_time_left(int64_t deadline_ns,
                                        struct timespec *left)
{
	int64_t left_ns;

	if (deadline_ns == XP_NEVER)
		return NULL;
	left_ns = deadline_ns == XP_NOW ? 0 : deadline_ns - xp_sys_now();
	if (left_ns < 0)
		left_ns = 0;
	left->tv_sec = (time_t)(left_ns / XP_NS_PER_SEC);
	left->tv_nsec = (long)(left_ns % XP_NS_PER_SEC);
	return left;
}

const struct timespec *xp_sys_time_left_masked(int64_t deadline_ns, const sigset_t *mask,
                                               struct timespec *left)
{
	const struct timespec *time = xp_sys_time_left(deadline_ns, left);

	if (XP_PROBE_HIDES_EINTR && mask && time && !left->tv_sec && !left->tv_nsec)
		/*
		 * With timeout 0 a signal handler would run, but not end the call with EINTR.  A
		 * microsecond, because pselect(2) may truncate to microseconds.
		 */
		left->tv_nsec = 1000;
	return time;
}

int xp_sys_select_wait(int count, long *const sets[3], int64_t deadline_ns,
                       const sigset_t *mask)
{
	struct timespec left;

	return XP_LIBCALL(pselect(count, (fd_set *)(void *)sets[0],
	                          (fd_set *)(void *)sets[1], (fd_set *)(void *)sets[2],
	                          xp_sys_time_left_masked(deadline_ns, mask, &left), mask));
}
