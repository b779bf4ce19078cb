/* Systems that do not say how much a pipe holds, nor what more it takes. */
#include <errno.h>

#include "os/sys.h"

int64_t xp_sys_pipe_size(int fd)
{
	(void)fd;
	return -ENOTSUP;
}

int64_t xp_sys_pipe_room(int fd)
{
	(void)fd;
	return -ENOTSUP;
}
