/* Beacons of pipe(2).  A full pipe is lit enough. */
#include "os/beacon.h"

#include "os/sys.h"

int xp_beacon_open(struct xp_beacon *beacon)
{
	int ends[2];
	int rc = xp_sys_pipe(ends);

	beacon->fd = rc < 0 ? -1 : ends[0];
	beacon->lamp = rc < 0 ? -1 : ends[1];
	return rc;
}

void xp_beacon_close(const struct xp_beacon *beacon)
{
	if (beacon->fd < 0)
		return;
	xp_sys_close(beacon->lamp);
	xp_sys_close(beacon->fd);
}

void xp_beacon_light(const struct xp_beacon *beacon)
{
	xp_sys_write(beacon->lamp, "", 1);
}

void xp_beacon_dim(const struct xp_beacon *beacon)
{
	char bytes[256];

	while (xp_sys_read(beacon->fd, bytes, sizeof bytes) ==
	       (int)sizeof bytes)
		continue;
}
