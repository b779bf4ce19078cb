/* The beacon and the edge-triggered registrations of an array back end. */
#include "backend/own.h"

#include "base/assert.h"

int xp_own_open(struct xp_own *own, struct xp_counters *counters)
{
	int rc = xp_wakefd_open(&own->wake);

	if (rc < 0)
		return rc;
	rc = xp_edge_init(&own->edge, counters);
	if (rc < 0)
		xp_wakefd_close(&own->wake);
	return rc;
}

void xp_own_close(struct xp_own *own)
{
	xp_wakefd_close(&own->wake);
	xp_edge_fini(&own->edge);
}

bool xp_own_has(const struct xp_own *own, int fd)
{
	return xp_wakefd_has(&own->wake, fd) || xp_edge_owns(&own->edge, fd);
}

void xp_own_entries(const struct xp_own *own, struct pollfd *fds)
{
	fds[XP_OWN_WAKE] = (struct pollfd){.fd = own->wake.fd, .events = POLLIN};
	fds[XP_OWN_EDGE] = (struct pollfd){.fd = own->edge.fd, .events = POLLIN};
}

int xp_own_report_wake(const struct xp_own *own, const struct pollfd *fds,
                       struct xp_fired *fired)
{
	if (!fds[XP_OWN_WAKE].revents)
		return 0;
	xp_wakefd_clear(&own->wake);
	*fired = (struct xp_fired){.token = XP_TOKEN_WAKE};
	return 1;
}

int xp_own_report_part(struct xp_fired *fired, int count, int cap)
{
	XP_ASSERT(count <= cap);
	if (count == 0 || count == cap)
		return count;
	fired[count] = (struct xp_fired){XP_TOKEN_WAKE, XP_FIRED_MORE};
	return count + 1;
}

int xp_own_report_edges(struct xp_own *own, const struct pollfd *fds,
                        struct xp_fired *fired, int room)
{
	if (!fds[XP_OWN_EDGE].revents || room == 0)
		return 0;
	return xp_edge_harvest(&own->edge, fired, room);
}
