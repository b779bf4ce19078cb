/*
 * Wake-up descriptors by pipe(2), nonblocking.  A write that fails because the pipe is full is
 * harmless: a full pipe is readable.
 */
#include "sys/wakefd.h"

#include "sys/sys.h"

int xp_wakefd_open(struct xp_wakefd *wakefd)
{
	int ends[2];
	int rc = xp_sys_pipe(ends);

	wakefd->fd = rc < 0 ? -1 : ends[0];
	wakefd->write_fd = rc < 0 ? -1 : ends[1];
	return rc;
}

void xp_wakefd_close(const struct xp_wakefd *wakefd)
{
	if (wakefd->fd < 0)
		return;
	xp_sys_close(wakefd->write_fd);
	xp_sys_close(wakefd->fd);
}

void xp_wakefd_signal(const struct xp_wakefd *wakefd)
{
	xp_sys_write(wakefd->write_fd, "", 1);
}

void xp_wakefd_clear(const struct xp_wakefd *wakefd)
{
	char bytes[256];

	while (xp_sys_read(wakefd->fd, bytes, sizeof bytes) ==
	       (int)sizeof bytes)
		continue;
}
