/*
 * Edge-triggered watching for back ends whose own mechanism has only levels.
 *
 * No rule in user space can distinguish "still ready" from "read dry and ready
 * again" without losing or repeating events.  So these registrations live in
 * a small kernel set that can, whose descriptor is one entry of the array.
 */
#ifndef XP_POSIX_EDGE_H
#define XP_POSIX_EDGE_H

#include <sys/stat.h>

#include "posix/edges.h"
#include "sys/backend.h"

struct xp_edge {
	int fd; /* readable while something fired */
	struct xp_counters *counters;
	void *inner; /* what the set is made of, if that is more */
};

/*
 * Where it cannot watch POLLPRI the back end does not offer it either: what is
 * watched by level today is to be watched by an edge tomorrow.
 */
#define XP_EDGE_CAPS (XP_OS_EDGES_EXCEPT ? XP_CAP_EXCEPT : 0)

/* Is this number one of the set's own? */
bool xp_edge_owns(const struct xp_edge *edge, int fd);

/*
 * Make the set.  Not later, at the first need: the number it gets then may be
 * one that the program has just closed and is about to dup2 over.
 */
int xp_edge_init(struct xp_edge *edge, struct xp_counters *counters);
void xp_edge_fini(struct xp_edge *edge);
/* Start over with an empty set, under the same number. */
int xp_edge_renew(struct xp_edge *edge);

/* Like the back end's functions of these names. */
int xp_edge_attach(struct xp_edge *edge, int fd, uint32_t watch,
                   uint64_t token);
int xp_edge_change(struct xp_edge *edge, int fd, uint32_t watch,
                   uint64_t token);
void xp_edge_detach(struct xp_edge *edge, int fd);
/* Fewer than cap: there are no more. */
int xp_edge_harvest(struct xp_edge *edge, struct xp_fired *fired, int cap);

/*
 * Prepare to watch a descriptor like this: -EBADF, -ENOTSUP (O_PATH), -EPERM
 * (its file is always ready: regular files, directories, some devices), or 0; or 1 if
 * poll(2) takes away what it reports of the file (XP_KIND_CLEARED); by edge that is -ENOTSUP,
 * because poll(2) of the set polls the file.  Then *cleared has the bits
 * that poll(2) reported before the set was asked whether the file can be waited for, which
 * takes them away as well.  Stores the result of fstat(2) in *status.
 */
int xp_edge_admit(struct xp_edge *edge, int fd, uint32_t watch, struct stat *status,
                  uint32_t *cleared);

#endif
