/* How much can be read or written, as the filters of kqueue(2) tell it. */
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "os/sys.h"
#include "os/sys_kqueue.h"

static bool is_listener(int fd)
{
	int listens = 0;

	return xp_sys_option(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens,
	                     sizeof listens) == 0 && listens;
}

int64_t xp_sys_unread(int fd)
{
	return is_listener(fd) ? -EINVAL : xp_sys_kevent_ask(fd, EVFILT_READ);
}

int64_t xp_sys_backlog(int fd)
{
	int64_t count = is_listener(fd) ? xp_sys_kevent_ask(fd, EVFILT_READ)
		: -EINVAL;

	/* One is there, or was a moment ago. */
	return count == 0 ? 1 : count;
}

int64_t xp_sys_socket_room(int fd)
{
	return xp_sys_kevent_ask(fd, EVFILT_WRITE);
}

/* A pipe has one buffer for both ends. */
int64_t xp_sys_unsent(int fd)
{
#if defined(FIONWRITE)
	unsigned long what = FIONWRITE;
#elif defined(__linux__)
	unsigned long what = TIOCOUTQ; /* With kqueue(2) of our own. */
#else
	unsigned long what = 0;
#endif
	int saved = errno;
	int count = 0;
	int rc = what ? ioctl(fd, what, &count) : -1;

	if (!what)
		return -ENOTSUP;
	if (rc < 0 && errno == ENOTTY)
		rc = ioctl(fd, FIONREAD, &count);
	rc = rc < 0 ? -errno : 0;
	errno = saved;
	return rc < 0 ? rc : count;
}

/* Nobody tells; the room is known. */
int64_t xp_sys_pipe_size(int fd)
{
	(void)fd;
	return -ENOTSUP;
}

int64_t xp_sys_pipe_room(int fd)
{
	return xp_sys_kevent_ask(fd, EVFILT_WRITE);
}
