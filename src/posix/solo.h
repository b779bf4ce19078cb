/*
 * Solo entries of filters, on epoll.
 *
 * After any change of an entry the kernel reports all of it again, and with the activity of one bit
 * it reports all other bits that are set.  So an edge does not share its entry with a filter that
 * may change.  An epoll set has one entry for each descriptor, so there is a set for each filter,
 * inside the main set; each is opened at its first use.
 */
#ifndef XP_POSIX_SOLO_H
#define XP_POSIX_SOLO_H

#include <stdatomic.h>

#include "sys/backend.h"

enum { XP_SOLO_SETS = 3 };

struct xp_solo {
	/* The sets; -1: not open.  Written with the queue's lock, read by waits without it. */
	atomic_int fds[XP_SOLO_SETS];
	atomic_bool full; /* the last harvest had no room for all reports of these sets */
	atomic_bool any;
	struct xp_counters *counters;
};

void xp_solo_init(struct xp_solo *solo, struct xp_counters *counters);
void xp_solo_fini(struct xp_solo *solo);
bool xp_solo_owns(const struct xp_solo *solo, int fd);

/* Open the set of this filter inside the main set, unless it is open. */
int xp_solo_open(struct xp_solo *solo, int main_fd, int i);

/* Like the back end's functions.  A change without bits deletes the entry. */
int xp_solo_attach(struct xp_solo *solo, int main_fd, int fd, uint32_t watch,
                   uint64_t token);
int xp_solo_change(struct xp_solo *solo, int fd, uint32_t watch,
                   uint64_t token);

/* Replace the reports of these sets by reports of their entries.  Returns the new number. */
int xp_solo_harvest(struct xp_solo *solo, struct xp_fired *fired, int count,
                    int cap);

/* Replace all sets by empty ones, inside this main set. */
void xp_solo_renew(struct xp_solo *solo, int main_fd);

static inline bool xp_solo_any(const struct xp_solo *solo)
{
	return atomic_load_explicit(&solo->any, memory_order_relaxed);
}

int xp_solo_take_first(struct xp_solo *solo, struct xp_fired *fired, int cap);

/*
 * Called before the main set is harvested.  If these sets had more reports than room the last time,
 * they get half of the room now, because the main set reports each of them only once.
 */
static inline int xp_solo_first(struct xp_solo *solo, struct xp_fired *fired, int cap)
{
	if (!atomic_load_explicit(&solo->full, memory_order_relaxed))
		return 0;
	return xp_solo_take_first(solo, fired, cap);
}

#endif
