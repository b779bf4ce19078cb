/*
 * Edge-triggered registrations for back ends whose own mechanism is level-triggered.
 *
 * User space cannot distinguish "still ready" from "read until empty and ready again" without
 * losing or repeating events.  So these registrations live in a small kernel set that can, an epoll
 * set or a kqueue, whose descriptor is one entry of the back end's array.
 */
#ifndef XP_POSIX_EDGE_H
#define XP_POSIX_EDGE_H

#include <sys/stat.h>

#include "posix/edges.h"
#include "sys/backend.h"

struct xp_edge {
	int fd; /* readable while the set has reports; -1: there is no set */
	struct xp_counters *counters;
	void *inner; /* private state of the implementation */
};

/*
 * If the set cannot watch POLLPRI, the back end does not offer it at all: a level-triggered
 * registration may become edge-triggered later.
 */
#define XP_EDGE_CAPS (XP_OS_EDGES_EXCEPT ? XP_CAP_EXCEPT : 0)

/* Returns true if fd belongs to the set. */
bool xp_edge_owns(const struct xp_edge *edge, int fd);

/*
 * Open the set.  The back end calls this when it opens: at the first use the set could get a
 * descriptor that the program has just closed and is about to pass to dup2(2).
 */
int xp_edge_init(struct xp_edge *edge, struct xp_counters *counters);
void xp_edge_fini(struct xp_edge *edge);
/* Replace the set by an empty one with the same descriptor. */
int xp_edge_renew(struct xp_edge *edge);

/* Like the back end's functions of these names. */
int xp_edge_attach(struct xp_edge *edge, int fd, uint32_t watch,
                   uint64_t token);
int xp_edge_change(struct xp_edge *edge, int fd, uint32_t watch,
                   uint64_t token);
void xp_edge_detach(struct xp_edge *edge, int fd);
/* Store reports.  Returns their number; fewer than cap: there are no more. */
int xp_edge_harvest(struct xp_edge *edge, struct xp_fired *fired, int cap);

/*
 * Check whether fd can be watched like this.  Stores the result of fstat(2) in *status.  Returns 0;
 * -EBADF; -ENOTSUP for O_PATH; -EPERM if the file is always ready (regular files, directories, some
 * devices); or 1 if poll(2) clears what it reports about the file (XP_KIND_CLEARED).  The last
 * cannot be watched by edge (-ENOTSUP), because poll(2) of the set polls the file.  The check
 * itself polls the file, too: *cleared has the bits that were set before.
 */
int xp_edge_admit(struct xp_edge *edge, int fd, uint32_t watch, struct stat *status,
                  uint32_t *cleared);

#endif
