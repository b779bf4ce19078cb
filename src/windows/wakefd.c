/* Wake-up descriptors: manual-reset event objects, which stay signalled until they are cleared. */
#include "sys/wakefd.h"

#include <errno.h>

#include "sys/fdnum.h"
#include "windows/nt.h"

int xp_wakefd_open(struct xp_wakefd *wakefd)
{
	HANDLE event = CreateEventW(NULL, TRUE, FALSE, NULL);
	int fd = event ? xp_fd_number((uintptr_t)event) : -1;

	*wakefd = (struct xp_wakefd){fd, fd};
	if (fd >= 0)
		return 0;
	if (!event)
		return xp_nt_to_errno(GetLastError());
	CloseHandle(event);
	return -EMFILE;
}

void xp_wakefd_close(const struct xp_wakefd *wakefd)
{
	if (wakefd->fd >= 0)
		CloseHandle(xp_nt_handle(wakefd->fd));
}

void xp_wakefd_signal(const struct xp_wakefd *wakefd)
{
	SetEvent(xp_nt_handle(wakefd->fd));
}

void xp_wakefd_clear(const struct xp_wakefd *wakefd)
{
	ResetEvent(xp_nt_handle(wakefd->fd));
}
