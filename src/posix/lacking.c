/*
 * Functions that only Linux supports.  These versions for other systems return an error, or the
 * value that is assumed there.
 */
#include <errno.h>

#include "sys/fskind.h"
#include "sys/procfs.h"
#include "sys/sys.h"
#include "sys/sys_aio.h"

/* Fails: on these systems the library has no descriptor that reports that the clock was set. */
int xp_sys_clock_step_fd(void)
{
	return -ENOSYS;
}

/* Fails: no system call of these systems reads the page cache without waiting for the device. */
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

/*
 * Returns true: files like those of Linux's /proc, whose text the kernel makes when it is read and
 * whose st_size is 0, are not detected on these systems.
 */
bool xp_fs_has_sizes(int fd)
{
	(void)fd;
	return true;
}

bool xp_fs_has_stable_birth(int fd)
{
	(void)fd;
	return true;
}

/* Fails: no /proc of these systems lists the children of a process. */
int xp_procfs_children(pid_t pid, xp_procfs_visit *visit, void *context)
{
	(void)pid, (void)visit, (void)context;
	return -ENOENT;
}

int64_t xp_procfs_start_time(pid_t pid)
{
	(void)pid;
	return -1;
}
