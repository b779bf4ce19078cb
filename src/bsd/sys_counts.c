/* How much can be read from or written to a descriptor, by the filters of kqueue(2). */
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

	/* At least one connection is assumed. */
	return count == 0 ? 1 : count;
}

int64_t xp_sys_socket_room(int fd)
{
	return xp_sys_kevent_ask(fd, EVFILT_WRITE);
}

#if defined(FIONWRITE) || defined(__linux__)
static int counts_ask(int fd, unsigned long what, int *count)
{
	return XP_LIBCALL(ioctl(fd, what, count));
}
#endif

/*
 * NetBSD reports the bytes in a pipe, and so does Linux with our kqueue(2), where both ends
 * have one number.  FreeBSD reports 0 at the end for writing, whatever is in the pipe.
 */
int64_t xp_sys_unsent(int fd)
{
	int count = 0;
	int rc;

#if defined(SO_NWRITE)
	rc = xp_sys_option(fd, SOL_SOCKET, SO_NWRITE, &count, sizeof count);
#elif defined(FIONWRITE)
	rc = counts_ask(fd, FIONWRITE, &count);
#elif defined(__linux__)
	rc = counts_ask(fd, TIOCOUTQ, &count);
	if (rc == -ENOTTY)
		rc = counts_ask(fd, FIONREAD, &count);
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
