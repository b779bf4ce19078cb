/*
 * Which descriptor has a poll in the ring, and which is in the edge set: what
 * the io_uring back end watches.  Any thread may harvest.
 */
#ifndef XP_BACKEND_RINGMAP_H
#define XP_BACKEND_RINGMAP_H

#include <stdatomic.h>

#include "backend/backend.h"
#include "backend/edge.h"
#include "backend/fdmap.h"
#include "backend/pollring.h"
#include "base/mutex.h"

#ifdef XP_HAVE_POLLRING

/*
 * The lock comes after the queue's and is not held while a thread sleeps.  It
 * guards all but [I], what is immutable, and [a], what is atomic.
 */
struct xp_ringmap {
	struct xp_mutex lock;
	struct xp_pollring polls; /* its descriptor: [I] */
	struct xp_fdmap map;
	struct xp_edge *edge; /* [I] */
	int look_at; /* where the next look at states that were told begins */
	atomic_bool owes; /* [a] such a state may last */
};

int xp_ringmap_open(struct xp_ringmap *ring, struct xp_edge *edge,
                    struct xp_counters *counters);
void xp_ringmap_close(struct xp_ringmap *ring);

/* As the back end's functions of these names. */
int xp_ringmap_attach(struct xp_ringmap *ring, int fd, uint32_t watch,
                      uint64_t token);
int xp_ringmap_change(struct xp_ringmap *ring, int fd, uint32_t watch,
                      uint64_t token);
int xp_ringmap_detach(struct xp_ringmap *ring, int fd);
int xp_ringmap_harvest(struct xp_ringmap *ring, struct xp_fired *fired, int cap);
/* Was a state told that may last, and that the next harvest looks at? */
bool xp_ringmap_owes(struct xp_ringmap *ring);
/* Has the kernel not taken all polls yet?  The next harvest tries again. */
bool xp_ringmap_behind(struct xp_ringmap *ring);

#endif
#endif
