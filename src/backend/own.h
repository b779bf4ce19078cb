/*
 * What an array back end has in its array of its own: a wake-up descriptor, to be woken by,
 * and the set of edge-triggered registrations.
 */
#ifndef XP_BACKEND_OWN_H
#define XP_BACKEND_OWN_H

#include "backend/backend.h"
#include "backend/edge.h"
#include "os/wakefd.h"

enum { XP_OWN_WAKE, XP_OWN_EDGE, XP_OWN_ENTRIES };

struct xp_own {
	struct xp_wakefd wake; /* immutable: signalled by any thread, without the lock */
	struct xp_edge edge;
	bool edges_left; /* perhaps: as many were reported as there was room for */
};

int xp_own_open(struct xp_own *own, struct xp_counters *counters);
void xp_own_close(struct xp_own *own);
bool xp_own_has(const struct xp_own *own, int fd); /* as backend.h's `owns` */

/* Fill in its XP_OWN_ENTRIES entries. */
void xp_own_entries(const struct xp_own *own, struct pollfd *fds);

/*
 * Report what fired of those entries, if there is room; how many that is.  Edges leave
 * some of the room to the array, as far as there is much of it.
 */
int xp_own_report_wake(const struct xp_own *own, const struct pollfd *fds,
                       struct xp_fired *fired);
int xp_own_report_edges(struct xp_own *own, const struct pollfd *fds,
                        struct xp_fired *fired, int room);
/* The edges that are left. */
int xp_own_report_rest(struct xp_own *own, struct xp_fired *fired, int room);

#endif
