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

bool xp_sys_is_listener(int fd)
{
	int listens = 0;

	return xp_sys_option(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens,
	                     sizeof listens) == 0 && listens;
}

int xp_sys_take_error(int fd)
{
	int error = 0;
	int rc = xp_sys_option(fd, SOL_SOCKET, SO_ERROR, &error, sizeof error);

	return rc < 0 ? rc : error;
}
