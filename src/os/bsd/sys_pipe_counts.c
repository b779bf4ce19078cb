/* How much a pipe holds, and what more it takes, as the filters of kqueue(2) say. */
#include <errno.h>

#include "os/bsd/sys_kqueue.h"
#include "os/sys.h"

/* No call says; the room is known. */
int64_t xp_sys_pipe_size(int fd)
{
	(void)fd;
	return -ENOTSUP;
}

int64_t xp_sys_pipe_room(int fd)
{
	return xp_sys_kevent_ask(fd, EVFILT_WRITE);
}
