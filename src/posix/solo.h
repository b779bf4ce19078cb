/*
 * Filters that have an entry of their own, on epoll.
 *
 * Whatever is changed in an entry, the kernel reports all of it again, and what
 * happens to one of its bits is reported with all the others that hold.  So an
 * edge shares its entry with nothing that may change.  As a set has one entry
 * for each descriptor, there is a set for each filter beside the main one, which
 * holds them; they are made when they are needed first.
 */
#ifndef XP_POSIX_SOLO_H
#define XP_POSIX_SOLO_H

#include <stdatomic.h>

#include "sys/backend.h"

enum { XP_SOLO_SETS = 3 };

struct xp_solo {
	/* -1: not there.  Written with the queue's lock, read by waits. */
	atomic_int fds[XP_SOLO_SETS];
	atomic_bool full; /* the last harvest had no room for more of their entries */
	atomic_bool any;
	struct xp_counters *counters;
};

void xp_solo_init(struct xp_solo *solo, struct xp_counters *counters);
void xp_solo_fini(struct xp_solo *solo);
bool xp_solo_owns(const struct xp_solo *solo, int fd);

/* Make the set of this filter, in the main one, if it is not there. */
int xp_solo_open(struct xp_solo *solo, int main_fd, int i);

/* Like the back end's functions; a change without wanted bits ends the entry. */
int xp_solo_attach(struct xp_solo *solo, int main_fd, int fd, uint32_t watch,
                   uint64_t token);
int xp_solo_change(struct xp_solo *solo, int fd, uint32_t watch,
                   uint64_t token);

/* Put what the sets report in the place of their own entries; the new count. */
int xp_solo_harvest(struct xp_solo *solo, struct xp_fired *fired, int count,
                    int cap);

/* Start over with empty sets, in this one. */
void xp_solo_renew(struct xp_solo *solo, int main_fd);

static inline bool xp_solo_any(const struct xp_solo *solo)
{
	return atomic_load_explicit(&solo->any, memory_order_relaxed);
}

int xp_solo_take_first(struct xp_solo *solo, struct xp_fired *fired, int cap);

/*
 * Before the main set is harvested: if there was no room for all of these entries
 * the last time, they have half of it now, as the main set lists them as one.
 */
static inline int xp_solo_first(struct xp_solo *solo, struct xp_fired *fired, int cap)
{
	if (!atomic_load_explicit(&solo->full, memory_order_relaxed))
		return 0;
	return xp_solo_take_first(solo, fired, cap);
}

#endif
