/*
 * What the /dev/poll back end knows of a descriptor: how it is watched, and what
 * the device has of it.
 *
 * Changes are noted, and written to the device all at once, just before the
 * next wait.  What is written for a number that is in the set is ORed to what is
 * there, so to take bits away it is removed first, in the same write.  The
 * device does not notice that a file is closed: the number stays in the set, and
 * says POLLNVAL, or nothing, or what is true of another file by now.  So what is
 * attached again is removed first as well.
 */
#ifndef XP_BACKEND_DEVPOLL_SET_H
#define XP_BACKEND_DEVPOLL_SET_H

#include "backend/backend.h"
#include "backend/edge.h"
#include "backend/fdmap.h"

struct xp_dp_set {
	int device;
	struct pollfd *fds; /* records to be written; room for what waits find */
	int cap;            /* >= attached + the reserve */
	int reserve;
	int *dirty;         /* numbers to be written to the device */
	int dirty_len;
	int dirty_cap;      /* >= map.len */
	int attached;
	struct xp_fdmap map;   /* index: what the device has of it */
	struct xp_edge *edge;  /* where those watched by edges are */
	struct xp_counters *counters;
};

/* Room for so many entries beside those of what is attached. */
int xp_dp_set_init(struct xp_dp_set *set, struct xp_edge *edge, int reserve,
                   struct xp_counters *counters);
void xp_dp_set_fini(struct xp_dp_set *set);

/* As the back end's functions of these names. */
int xp_dp_attach(struct xp_dp_set *set, int fd, uint32_t watch, uint64_t token);
int xp_dp_change(struct xp_dp_set *set, int fd, uint32_t watch, uint64_t token);
int xp_dp_detach(struct xp_dp_set *set, int fd);

/* Write what has changed to the device; 0 or a negative errno value. */
int xp_dp_write(struct xp_dp_set *set);

/* It has reported of this number what was not asked for: make it forget. */
void xp_dp_mend(struct xp_dp_set *set, int fd);

/* Is there anything that was not written to it? */
static inline bool xp_dp_has_pending(const struct xp_dp_set *set)
{
	return set->dirty_len > 0;
}

#endif
