/* The wake-up descriptor and the edge-triggered registrations of an array back end. */
#include "backend/own.h"

enum { EDGES_MOST = 64 }; /* at a time */

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

static int report_edges(struct xp_own *own, struct xp_fired *fired, int room)
{
	int most = room < EDGES_MOST ? room : EDGES_MOST;
	int count = xp_edge_harvest(&own->edge, fired, most);

	own->edges_left = count == most;
	return count;
}

int xp_own_report_edges(struct xp_own *own, const struct pollfd *fds,
                        struct xp_fired *fired, int room)
{
	own->edges_left = fds[XP_OWN_EDGE].revents != 0;
	return own->edges_left && room > 0 ? report_edges(own, fired, room) : 0;
}

int xp_own_report_rest(struct xp_own *own, struct xp_fired *fired, int room)
{
	int count = 0;

	while (own->edges_left && count < room)
		count += report_edges(own, fired + count, room - count);
	return count;
}
