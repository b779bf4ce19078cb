/*
 * What the queue asks of systems with descriptors for everything, and never
 * needs here or cannot have: there are no files among the sockets, no thread waits
 * for a turn, nothing says what a pipe holds, and there is no /proc.
 */
#include <errno.h>
#include <stdlib.h>

#include "os/procfs.h"
#include "os/sys.h"

int xp_sys_read(int fd, void *buffer, size_t size)
{
	(void)fd, (void)buffer, (void)size;
	return -ENOSYS;
}

int xp_sys_step_fd(void)
{
	return -ENOSYS;
}

int xp_sys_poll_wait(struct pollfd *fds, size_t count, int64_t deadline_ns,
                     const sigset_t *mask)
{
	(void)fds, (void)count, (void)deadline_ns, (void)mask;
	return -ENOSYS;
}

void xp_sys_signals_hold(sigset_t *before)
{
	(void)before;
}

void xp_sys_signals_release(const sigset_t *before)
{
	(void)before;
}

const char *xp_sys_getenv(const char *name)
{
	return getenv(name);
}

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
