/*
 * Timers that the kernel reports by a descriptor: timerfd(2).
 *
 * None of these functions is a cancellation point.
 */
#include <sys/timerfd.h>

#include "linux/sys_linux.h"
#include "posix/timerfd.h"
#include "sys/libcall.h"
#include "sys/sys.h"

static int settime(int timer_fd, int flags, int64_t at_ns)
{
	struct itimerspec when = xp_timer_spec(at_ns);
	return XP_LIBCALL(timerfd_settime(timer_fd, flags, &when, NULL));
}

int xp_sys_timer_fd(void)
{
	return XP_LIBCALL(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
}

int xp_sys_timer_set(int timer_fd, int64_t deadline_ns)
{
	return settime(timer_fd, TFD_TIMER_ABSTIME, xp_timer_moment(deadline_ns));
}

/*
 * Open a timerfd of the real-time clock for a time that is never reached.  When the clock is set,
 * Linux 3.0 and later cancel the timer: the descriptor becomes readable, and the read fails with
 * ECANCELED.
 */
int xp_sys_clock_step_fd(void)
{
	int fd = XP_LIBCALL(timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK));
	int rc;

	if (fd < 0)
		return fd;
	rc = settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, XP_NEVER);
	if (rc == 0)
		return fd;
	xp_sys_close(fd);
	return rc;
}
