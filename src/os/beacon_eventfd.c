/* Beacons of eventfd(2): one number for both ends. */
#include "os/beacon.h"

#include "os/sys.h"
#include "os/sys_linux.h"

int xp_beacon_open(struct xp_beacon *beacon)
{
	int fd = xp_sys_eventfd(false);

	beacon->fd = fd < 0 ? -1 : fd;
	beacon->lamp = beacon->fd;
	return fd < 0 ? fd : 0;
}

void xp_beacon_close(const struct xp_beacon *beacon)
{
	if (beacon->fd >= 0)
		xp_sys_close(beacon->fd);
}

void xp_beacon_light(const struct xp_beacon *beacon)
{
	static const uint64_t one = 1;

	xp_sys_write(beacon->lamp, &one, sizeof one);
}

void xp_beacon_dim(const struct xp_beacon *beacon)
{
	uint64_t count;

	xp_sys_read(beacon->fd, &count, sizeof count);
}
