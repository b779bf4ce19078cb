/* Functions of posix/sys_epoll.h for Solaris, which has no epoll(7): all fail. */
#include "posix/sys_epoll.h"

#include <errno.h>

int xp_sys_epoll_create(void)
{
	return -ENOTSUP;
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
	(void)epoll_fd, (void)op, (void)fd, (void)events, (void)token;
	return -ENOTSUP;
}

int xp_sys_epoll_now(int epoll_fd, struct epoll_event *events, int cap)
{
	(void)epoll_fd, (void)events, (void)cap;
	return -ENOTSUP;
}

int xp_sys_timer_fd(void)
{
	return -ENOTSUP;
}

int xp_sys_timer_set(int timer_fd, int64_t deadline_ns)
{
	(void)timer_fd, (void)deadline_ns;
	return -ENOTSUP;
}

int xp_sys_move_fd(int fd, int number)
{
	(void)fd, (void)number;
	return -ENOTSUP;
}
