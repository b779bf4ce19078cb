/* How much a pipe holds, and what more it takes, as Linux says. */
#include <errno.h>
#include <fcntl.h>

#include "os/rawcall.h"
#include "os/sys.h"

int64_t xp_sys_pipe_size(int fd)
{
	int saved = errno;

	return xp_libcall_result(fcntl(fd, F_GETPIPE_SZ), saved);
}

int64_t xp_sys_pipe_room(int fd)
{
	int64_t unread = xp_sys_unread(fd);
	int64_t size = xp_sys_pipe_size(fd);

	if (size < 0)
		return size;
	return unread < 0 ? unread : unread < size ? size - unread : 0;
}
