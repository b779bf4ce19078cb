/*
 * epoll(7), eventfd and timerfd through the C library, where it is the only
 * way.
 */
#include "os/sys_epoll.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "os/timer_moment.h"
#include "os/uncancelled.h"

int xp_sys_epoll_create(void)
{
	struct xp_uncancelled before = xp_uncancelled_begin();

	return (int)xp_uncancelled_end(&before, epoll_create1(EPOLL_CLOEXEC));
}

int xp_sys_epoll_ctl(int epoll_fd, int op, int fd, uint32_t events,
                     uint64_t token)
{
	struct xp_uncancelled before = xp_uncancelled_begin();
	struct epoll_event event = {.events = events, .data.u64 = token};

	return (int)xp_uncancelled_end(&before,
	                               epoll_ctl(epoll_fd, op, fd, &event));
}

int xp_sys_epoll_now(int epoll_fd, struct epoll_event *events, int cap)
{
	struct xp_uncancelled before = xp_uncancelled_begin();
	int rc;

	do
		rc = epoll_wait(epoll_fd, events, cap, 0);
	while (rc < 0 && errno == EINTR);
	return (int)xp_uncancelled_end(&before, rc);
}

int xp_sys_eventfd(bool semaphore)
{
	struct xp_uncancelled before = xp_uncancelled_begin();
	int flags = EFD_CLOEXEC | EFD_NONBLOCK | (semaphore ? EFD_SEMAPHORE : 0);

	return (int)xp_uncancelled_end(&before, eventfd(0, flags));
}

int xp_sys_timer_fd(void)
{
	struct xp_uncancelled before = xp_uncancelled_begin();
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	return (int)xp_uncancelled_end(&before, fd);
}

int xp_sys_timer_set(int timer_fd, int64_t deadline_ns)
{
	struct xp_uncancelled before = xp_uncancelled_begin();
	struct itimerspec when = xp_timer_spec(xp_timer_moment(deadline_ns));
	int rc = timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &when, NULL);

	return (int)xp_uncancelled_end(&before, rc);
}

int xp_sys_replace(int fd, int number)
{
	struct xp_uncancelled before = xp_uncancelled_begin();
	int rc = dup2(fd, number);

	if (rc >= 0)
		rc = fcntl(number, F_SETFD, FD_CLOEXEC);
	close(fd);
	return (int)xp_uncancelled_end(&before, rc);
}
