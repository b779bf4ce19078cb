/*
 * The set of edges: edge-triggered registrations of back ends whose own system call is
 * level-triggered.
 *
 * A library cannot distinguish "still ready" from "read until empty and ready again" without losing
 * or repeating events; only the kernel can.  So these registrations are in an epoll set or a
 * kqueue, whose descriptor the back end polls together with its own.
 */
#ifndef XP_POSIX_EDGE_H
#define XP_POSIX_EDGE_H

#include <sys/stat.h>

#include "posix/edges.h"
#include "sys/backend.h"

struct xp_edge {
	int fd; /* descriptor of the set, readable while it has reports; -1: there is no set */
	struct xp_counters *counters; /* the queue's counters, for system calls */
	void *private_state; /* private state of epoll_edge.c or bsd/kqueue_edge.c */
};

/*
 * The capability to watch POLLPRI.  If the set of edges (epoll or kqueue) cannot watch POLLPRI, the
 * back end lacks the capability altogether, because any level-triggered registration may become
 * edge-triggered later.
 */
#define XP_EDGE_CAPS (XP_OS_EDGES_EXCEPT ? XP_CAP_EXCEPT : 0)

/* Returns true if fd is one of the set's own descriptors. */
bool xp_edge_owns(const struct xp_edge *edge, int fd);

/*
 * Open the set; called when the back end is opened.  If the set were opened at its first use, it
 * could get the number of a descriptor that the program has just closed and is about to pass to
 * dup2(2).
 */
int xp_edge_init(struct xp_edge *edge, struct xp_counters *counters);
void xp_edge_fini(struct xp_edge *edge);
/*
 * Replace the set by an empty one with the same descriptor.  Returns 0 or a negative errno value.
 */
int xp_edge_renew(struct xp_edge *edge);

/*
 * Begin to watch fd, change the watch, or end it, like `attach`, `change` and `detach` of struct
 * xp_backend_ops (sys/backend.h), with the same errors; the end reports none.
 */
int xp_edge_attach(struct xp_edge *edge, int fd, uint32_t watch,
                   uint64_t token);
int xp_edge_change(struct xp_edge *edge, int fd, uint32_t watch,
                   uint64_t token);
void xp_edge_detach(struct xp_edge *edge, int fd);
/*
 * Store up to cap reports.  Returns their number.  The set may have more if this is cap, or if one
 * of them has XP_FIRED_MORE.
 */
int xp_edge_harvest(struct xp_edge *edge, struct xp_fired *fired, int cap);

/*
 * Check whether fd can be watched like this.  Stores the result of fstat(2) in *status.  Returns 0,
 * or 1 if poll(2) clears the condition that it reports about the file (XP_KIND_CLEARED).  -EBADF;
 * -EPERM: the file is always ready (a regular file, a directory, some devices); -ENOTSUP: an O_PATH
 * descriptor, or an edge-triggered watch of a file of XP_KIND_CLEARED, because a poll of the set
 * would poll the file and clear its bits.  The check itself may poll such a file: *cleared gets the
 * bits that this cleared.
 */
int xp_edge_check_file(struct xp_edge *edge, int fd, uint32_t watch, struct stat *status,
                       uint32_t *cleared);

#endif
