/* A beacon is an event object. */
#include "os/beacon.h"

#include <errno.h>

#include "os/fdnum.h"
#include "os/nt/nt.h"

int xp_beacon_open(struct xp_beacon *beacon)
{
	HANDLE event = CreateEventW(NULL, TRUE, FALSE, NULL);
	int fd = event ? xp_fd_number((uintptr_t)event) : -1;

	*beacon = (struct xp_beacon){fd, fd};
	if (fd >= 0)
		return 0;
	if (!event)
		return xp_nt_error(GetLastError());
	CloseHandle(event);
	return -EMFILE;
}

void xp_beacon_close(const struct xp_beacon *beacon)
{
	if (beacon->fd >= 0)
		CloseHandle(xp_nt_handle(beacon->fd));
}

void xp_beacon_light(const struct xp_beacon *beacon)
{
	SetEvent(xp_nt_handle(beacon->fd));
}

void xp_beacon_dim(const struct xp_beacon *beacon)
{
	ResetEvent(xp_nt_handle(beacon->fd));
}
