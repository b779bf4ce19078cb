/* Wake-up descriptors by eventfd(2), which is read and written through the same descriptor. */
#include "sys/wakefd.h"

#include "linux/sys_linux.h"
#include "sys/sys.h"

int xp_wakefd_open(struct xp_wakefd *wakefd)
{
	int fd = xp_sys_eventfd(false);

	wakefd->fd = fd < 0 ? -1 : fd;
	wakefd->write_fd = wakefd->fd;
	return fd < 0 ? fd : 0;
}

void xp_wakefd_close(const struct xp_wakefd *wakefd)
{
	if (wakefd->fd >= 0)
		xp_sys_close(wakefd->fd);
}

void xp_wakefd_signal(const struct xp_wakefd *wakefd)
{
	static const uint64_t one = 1;

	xp_sys_write(wakefd->write_fd, &one, sizeof one);
}

void xp_wakefd_clear(const struct xp_wakefd *wakefd)
{
	uint64_t count;

	xp_sys_read(wakefd->fd, &count, sizeof count);
}
