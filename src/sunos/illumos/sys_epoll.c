/* epoll(7) and timerfd by the C library's functions: on illumos there is no other interface. */
#include "posix/sys_epoll.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "posix/timerfd.h"
#include "sys/libcall.h"

int xp_sys_epoll_create(void)
{
	return XP_UNCANCELLED(epoll_create1(EPOLL_CLOEXEC));
}

int xp_sys_busy_poll_set(int epoll_fd, uint32_t microseconds)
{
	(void)epoll_fd, (void)microseconds;
	return -ENOTSUP;
}

void xp_sys_busy_poll_copy(int epoll_fd, int other_fd)
{
	(void)epoll_fd, (void)other_fd;
}

int xp_sys_epoll_ctl(int epoll_fd, int op, int fd, uint32_t events,
                     uint64_t token)
{
	struct epoll_event event = {.events = events, .data.u64 = token};

	return XP_UNCANCELLED(epoll_ctl(epoll_fd, op, fd, &event));
}

int xp_sys_epoll_now(int epoll_fd, struct epoll_event *events, int cap)
{
	int rc;

	do
		rc = XP_UNCANCELLED(epoll_wait(epoll_fd, events, cap, 0));
	while (rc == -EINTR);
	return rc;
}

int xp_sys_timer_fd(void)
{
	return XP_UNCANCELLED(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
}

int xp_sys_timer_set(int timer_fd, int64_t deadline_ns)
{
	struct itimerspec when = xp_timer_spec(xp_timer_moment(deadline_ns));

	return XP_UNCANCELLED(timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &when, NULL));
}

int xp_sys_move_fd(int fd, int number)
{
	struct xp_uncancelled before = xp_uncancelled_begin();
	int rc = dup2(fd, number);

	if (rc >= 0)
		rc = fcntl(number, F_SETFD, FD_CLOEXEC);
	close(fd);
	return (int)xp_uncancelled_end(&before, rc);
}
