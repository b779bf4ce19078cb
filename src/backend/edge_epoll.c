/* A helper epoll set for what the array itself cannot watch. */
#include "backend/edge.h"

#include <errno.h>
#include <fcntl.h>

#include "os/sys.h"
#include "os/sys_epoll.h"

#ifndef O_PATH
#define O_PATH 0
#endif

enum { EDGE_CHUNK = 64 };

int xp_edge_init(struct xp_edge *edge, struct xp_counters *counters)
{
	edge->fd = xp_sys_epoll_create();
	edge->counters = counters;
	return edge->fd < 0 ? edge->fd : 0;
}

void xp_edge_fini(struct xp_edge *edge)
{
	xp_sys_close(edge->fd);
}

int xp_edge_renew(struct xp_edge *edge)
{
	int fresh = xp_sys_epoll_create();

	return fresh < 0 ? fresh : xp_sys_replace(fresh, edge->fd);
}

static int edge_control(struct xp_edge *edge, int op, int fd, uint32_t watch,
                        uint64_t token)
{
	uint32_t events = watch & XP_WATCH_BITS;

	if (watch & XP_WATCH_EDGE)
		events |= EPOLLET;
	xp_count(&edge->counters->syscalls_change);
	return xp_sys_epoll_ctl(edge->fd, op, fd, events, token);
}

int xp_edge_attach(struct xp_edge *edge, int fd, uint32_t watch, uint64_t token)
{
	int rc = edge_control(edge, EPOLL_CTL_ADD, fd, watch, token);

	if (rc == -EEXIST) /* Left over from a file that a duplicate keeps. */
		rc = edge_control(edge, EPOLL_CTL_MOD, fd, watch, token);
	return rc;
}

int xp_edge_change(struct xp_edge *edge, int fd, uint32_t watch, uint64_t token)
{
	return edge_control(edge, EPOLL_CTL_MOD, fd, watch, token);
}

void xp_edge_detach(struct xp_edge *edge, int fd)
{
	/* A closed descriptor has left the set by itself. */
	(void)edge_control(edge, EPOLL_CTL_DEL, fd, 0, 0);
}

int xp_edge_harvest(struct xp_edge *edge, struct xp_fired *fired, int cap)
{
	struct epoll_event events[EDGE_CHUNK];
	int count;

	xp_count_shared(&edge->counters->syscalls_check);
	count = xp_sys_epoll_now(edge->fd, events,
	                         cap < EDGE_CHUNK ? cap : EDGE_CHUNK);
	for (int i = 0; i < count; i++) {
		uint64_t token = events[i].data.u64;

		/* Of a closed file with a duplicate the set goes on telling. */
		xp_count_shared(&edge->counters->syscalls_check);
		fired[i].token = token;
		fired[i].events = xp_sys_open_flags((int)(uint32_t)token) < 0
			? POLLNVAL : events[i].events;
	}
	return count < 0 ? 0 : count;
}

int xp_edge_admit(struct xp_edge *edge, int fd, struct stat *status)
{
	int rc = xp_sys_open_flags(fd);

	xp_count(&edge->counters->syscalls_check);
	if (rc < 0)
		return rc;
	if (rc & O_PATH)
		return -ENOTSUP;
	rc = xp_sys_fstat(fd, status);
	if (rc < 0)
		return rc;
	if (!S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode) &&
	    !S_ISCHR(status->st_mode) && !S_ISBLK(status->st_mode))
		return 0;

	/*
	 * Terminals and some files of /proc can be waited for, others cannot; the
	 * kernel knows which.
	 */
	rc = xp_edge_attach(edge, fd, 0, 0);
	if (rc < 0)
		return rc;
	xp_edge_detach(edge, fd);
	return S_ISREG(status->st_mode) || S_ISDIR(status->st_mode);
}
