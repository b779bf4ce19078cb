/*
 * Functions of sys/sys.h for which Windows has nothing: threads cannot block signals, no wait is a
 * poll(2), and no wake-up descriptor is read.  Nor are there set-user-ID programs, for which
 * xp_sys_getenv would return NULL.
 */
#include <errno.h>
#include <stdlib.h>

#include "sys/sys.h"

int xp_sys_read(int fd, void *buffer, size_t size)
{
	(void)fd, (void)buffer, (void)size;
	return -ENOSYS;
}

int64_t xp_sys_pipe_room(int fd)
{
	(void)fd;
	return -ENOTSUP;
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

bool xp_sys_signal_is_blocked(int number, const sigset_t *mask)
{
	(void)number, (void)mask;
	return false;
}

const char *xp_sys_getenv(const char *name)
{
	return getenv(name);
}
