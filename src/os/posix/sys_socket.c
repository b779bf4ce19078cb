/* What a socket says of itself. */
#include "os/sys.h"

#include <errno.h>
#include <sys/socket.h>

int xp_sys_option(int fd, int level, int name, void *value, size_t size)
{
	socklen_t length = (socklen_t)size;
	int saved = errno;
	int rc = getsockopt(fd, level, name, value, &length);

	if (rc < 0) {
		rc = -errno;
		errno = saved;
	}
	return rc;
}

bool xp_sys_is_stream(int fd)
{
	int type = 0;

	return xp_sys_option(fd, SOL_SOCKET, SO_TYPE, &type,
	                     sizeof type) == 0 && type == SOCK_STREAM;
}

/* 1 or 0 as the kernel says, or a negative errno value. */
static int accepts(int fd)
{
	int listens = 0;
	int rc = xp_sys_option(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, sizeof listens);

	return rc < 0 ? rc : listens != 0;
}

bool xp_sys_is_listener(int fd)
{
	struct sockaddr_storage peer;
	socklen_t size = sizeof peer;
	int saved = errno;
	int listens = accepts(fd);

	if (listens != -ENOPROTOOPT)
		return listens > 0;
	/* OpenBSD does not say: a stream that has nobody at its other end. */
	listens = xp_sys_is_stream(fd) &&
		getpeername(fd, (struct sockaddr *)&peer, &size) < 0 && errno == ENOTCONN;
	errno = saved;
	return listens;
}

/*
 * FreeBSD reports a listener that was shut down by its error, and as long as nobody
 * takes that.
 */
#ifndef XP_LISTENER_ENDS_BY_ERROR
#ifdef __linux__
#define XP_LISTENER_ENDS_BY_ERROR false
#else
#define XP_LISTENER_ENDS_BY_ERROR true
#endif
#endif

int xp_sys_take_error(int fd)
{
	int error = 0;
	int rc;

	if (XP_LISTENER_ENDS_BY_ERROR && accepts(fd) > 0)
		return 0;
	rc = xp_sys_option(fd, SOL_SOCKET, SO_ERROR, &error, sizeof error);
	return rc < 0 ? rc : error;
}
