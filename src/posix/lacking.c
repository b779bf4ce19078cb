/* Functions for what Linux alone has, with the result for all other systems. */
#include <errno.h>

#include "sys/fskind.h"
#include "sys/procfs.h"
#include "sys/sys.h"
#include "sys/sys_aio.h"

/* A moment at which the clock is set is not reported by a descriptor. */
int xp_sys_step_fd(void)
{
	return -ENOSYS;
}

/* The page cache does not answer without waiting for the device. */
int64_t xp_sys_read_cached(int fd, void *buffer, size_t size, int64_t offset)
{
	(void)fd, (void)buffer, (void)size, (void)offset;
	return -EAGAIN;
}

int64_t xp_sys_pipe_size(int fd)
{
	(void)fd;
	return -ENOTSUP;
}

/* These systems do without files whose text the kernel writes, as in /proc. */
bool xp_fs_has_sizes(int fd)
{
	(void)fd;
	return true;
}

bool xp_fs_keeps_births(int fd)
{
	(void)fd;
	return true;
}

/* No /proc shows other processes here. */
int xp_procfs_children(pid_t pid, xp_procfs_visit *visit, void *context)
{
	(void)pid, (void)visit, (void)context;
	return -ENOENT;
}

int64_t xp_procfs_started(pid_t pid)
{
	(void)pid;
	return -1;
}
