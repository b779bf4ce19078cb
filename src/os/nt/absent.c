/*
 * What the queue asks of systems with descriptors for everything, and never
 * needs here: there are no files among the sockets, and no thread waits for a
 * turn.
 */
#include <errno.h>
#include <stdlib.h>

#include "os/beacon.h"
#include "os/fskind.h"
#include "os/sys.h"

int xp_sys_fstat(int fd, struct stat *status)
{
	(void)fd, (void)status;
	return -ENOSYS;
}

int64_t xp_sys_tell(int fd)
{
	(void)fd;
	return -ENOSYS;
}

bool xp_fs_has_sizes(int fd)
{
	(void)fd;
	return false;
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

int xp_beacon_open(struct xp_beacon *beacon)
{
	*beacon = (struct xp_beacon){-1, -1};
	return -ENOSYS;
}

void xp_beacon_close(const struct xp_beacon *beacon)
{
	(void)beacon;
}

void xp_beacon_light(const struct xp_beacon *beacon)
{
	(void)beacon;
}

void xp_beacon_dim(const struct xp_beacon *beacon)
{
	(void)beacon;
}

const char *xp_sys_getenv(const char *name)
{
	return getenv(name);
}
