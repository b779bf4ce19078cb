/*
 * Where no call of the system reports edges: registrations with CLEAR are ENOTSUP, as
 * no rule in user space makes them (edge.h), and the array has no helper set.
 */
#include "backend/edge.h"

#include <errno.h>

#include "os/sys.h"

/* poll(2) passes over an entry of such a number. */
int xp_edge_init(struct xp_edge *edge, struct xp_counters *counters)
{
	edge->counters = counters;
	edge->fd = -1;
	return 0;
}

void xp_edge_fini(struct xp_edge *edge)
{
	(void)edge;
}

bool xp_edge_owns(const struct xp_edge *edge, int fd)
{
	return fd >= 0 && fd == edge->fd;
}

int xp_edge_renew(struct xp_edge *edge)
{
	(void)edge;
	return -ENOTSUP;
}

int xp_edge_attach(struct xp_edge *edge, int fd, uint32_t watch, uint64_t token)
{
	(void)edge, (void)fd, (void)watch, (void)token;
	return -ENOTSUP;
}

int xp_edge_change(struct xp_edge *edge, int fd, uint32_t watch, uint64_t token)
{
	(void)edge, (void)fd, (void)watch, (void)token;
	return -ENOTSUP;
}

void xp_edge_detach(struct xp_edge *edge, int fd)
{
	(void)edge, (void)fd;
}

int xp_edge_harvest(struct xp_edge *edge, struct xp_fired *fired, int cap)
{
	(void)edge, (void)fired, (void)cap;
	return 0;
}
