/* Functions that only Linux supports; here they report that to the caller. */
#include <errno.h>

#include "sys/fskind.h"
#include "sys/procfs.h"
#include "sys/sys.h"
#include "sys/sys_aio.h"

/* No descriptor reports that the clock was set. */
int xp_sys_step_fd(void)
{
	return -ENOSYS;
}

/* The page cache cannot be read without waiting for the device. */
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

/* These systems have no files like those in /proc, whose text the kernel writes. */
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

/* There is no /proc that shows other processes. */
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
