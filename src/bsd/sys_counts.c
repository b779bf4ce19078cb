/*
 * Counts of unread and unsent bytes, free room and waiting connections: most come from the data of
 * a kqueue(2) filter, the others from ioctl(2) or getsockopt(2).
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "bsd/sys_kqueue.h"
#include "sys/libcall.h"
#include "sys/sys.h"

int64_t xp_sys_unread(int fd)
{
	return xp_sys_is_listener(fd) ? -EINVAL : xp_sys_kevent_ask(fd, EVFILT_READ);
}

int64_t xp_sys_backlog(int fd)
{
	int64_t count = xp_sys_is_listener(fd) ? xp_sys_kevent_ask(fd, EVFILT_READ)
		: -EINVAL;

	/* The filter reports nothing now: return 1, because the contract is at least one. */
	return count == 0 ? 1 : count;
}

int64_t xp_sys_socket_room(int fd)
{
	return xp_sys_kevent_ask(fd, EVFILT_WRITE);
}

#if defined(FIONWRITE) || defined(__linux__)
static int query_ioctl(int fd, unsigned long what, int *count)
{
	return XP_LIBCALL(ioctl(fd, what, count));
}
#endif

/*
 * By FIONWRITE: for the write end of a pipe NetBSD returns the number of bytes in the pipe, and
 * FreeBSD returns 0 whatever is in the pipe.  A build on Linux, over this project's kqueue(2), uses
 * FIONREAD, which returns the bytes in the pipe at both ends.
 */
int64_t xp_sys_unsent(int fd)
{
	int count = 0;
	int rc;

#if defined(SO_NWRITE)
	rc = xp_sys_option(fd, SOL_SOCKET, SO_NWRITE, &count, sizeof count);
#elif defined(FIONWRITE)
	rc = query_ioctl(fd, FIONWRITE, &count);
#elif defined(__linux__)
	rc = query_ioctl(fd, TIOCOUTQ, &count);
	if (rc == -ENOTTY)
		rc = query_ioctl(fd, FIONREAD, &count);
#else
	(void)fd;
	rc = -ENOTSUP;
#endif
	return rc < 0 ? rc : count;
}

int64_t xp_sys_pipe_room(int fd)
{
	return xp_sys_kevent_ask(fd, EVFILT_WRITE);
}
