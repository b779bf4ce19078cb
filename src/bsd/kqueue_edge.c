/*
 * The set of edge-triggered registrations (posix/edge.h) of the poll and select back ends: a second
 * instance of the kqueue back end, whose kqueue is one entry of their array.
 */
#include "posix/edge.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/time.h"
#include "bsd/kqueue_state.h"
#include "bsd/system.h"
#include "sys/sys.h"

enum { EDGE_ROOM = 16 }; /* room for the reports of one flush */

int xp_edge_init(struct xp_edge *edge, struct xp_counters *counters)
{
	const struct xp_backend_ops *ops = &xp_backend_kqueue;
	int rc;

	edge->counters = counters;
	edge->private_state = xp_zalloc(ops->state_size);
	rc = edge->private_state ? ops->open(edge->private_state, 0, counters) : -ENOMEM;
	/* The state of the kqueue back end begins with its set. */
	edge->fd = rc < 0 ? rc : ((const struct xp_kq_set *)edge->private_state)->fd;
	if (rc < 0)
		xp_free(edge->private_state);
	return rc;
}

void xp_edge_fini(struct xp_edge *edge)
{
	xp_backend_kqueue.close(edge->private_state);
	xp_free(edge->private_state);
}

/* Returns true if fd is the set's kqueue, or another private descriptor of that back end. */
bool xp_edge_owns(const struct xp_edge *edge, int fd)
{
	return xp_backend_kqueue.owns(edge->private_state, fd);
}

/* kqueue(2) removes the filters of a closed descriptor, so there is nothing to renew. */
int xp_edge_renew(struct xp_edge *edge)
{
	(void)edge;
	return -ENOTSUP;
}

/*
 * Pass the pending changes to the kernel now, because the set may not be polled for a long time.
 * Reports of closed descriptors are dropped.
 */
static void edge_flush(struct xp_edge *edge)
{
	struct xp_fired gone[EDGE_ROOM];

	while (xp_backend_kqueue.has_pending(edge->private_state))
		(void)xp_backend_kqueue.flush(edge->private_state, gone, EDGE_ROOM);
}

int xp_edge_attach(struct xp_edge *edge, int fd, uint32_t watch, uint64_t token)
{
	int rc = xp_backend_kqueue.attach(edge->private_state, fd, watch, token);

	if (rc == -EEXIST)
		rc = xp_edge_change(edge, fd, watch, token);
	return rc;
}

int xp_edge_change(struct xp_edge *edge, int fd, uint32_t watch, uint64_t token)
{
	int rc = xp_backend_kqueue.change(edge->private_state, fd, watch, token);

	edge_flush(edge);
	return rc;
}

void xp_edge_detach(struct xp_edge *edge, int fd)
{
	(void)xp_backend_kqueue.detach(edge->private_state, fd);
}

int xp_edge_harvest(struct xp_edge *edge, struct xp_fired *fired, int cap)
{
	int count;

	XP_ASSERT(cap > 0);
	xp_count_shared(&edge->counters->syscalls_check);
	count = xp_backend_kqueue.wait(edge->private_state, XP_NOW, NULL, fired, cap);
	edge_flush(edge);
	return count < 0 ? 0 : count;
}

int xp_edge_check_file(struct xp_edge *edge, int fd, uint32_t watch, struct stat *status,
                       uint32_t *cleared)
{
	int rc = xp_sys_fstat(fd, status);

	(void)watch;
	*cleared = 0;
	xp_count(&edge->counters->syscalls_check);
	if (rc < 0)
		return rc;
	if (xp_sys_is_path(fd))
		return -ENOTSUP;
	return S_ISREG(status->st_mode) || S_ISDIR(status->st_mode) ? -EPERM : 0;
}
