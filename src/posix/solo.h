/*
 * Solo entries, on epoll: entries for one filter of a descriptor, in addition to its main entry.
 *
 * After any change of an entry, and at any activity of the file, epoll reports all requested bits
 * that are set.  So an edge-triggered filter must not share its entry with a filter that may
 * change.  An epoll set has one entry for each descriptor, so there is an epoll set for each
 * filter, inside the main set.  The epoll back end opens each of these sets at its first use.  In a
 * set of edges (edge.h) the main set has the entries for READ, and the sets of WRITE and EXCEPT are
 * opened together with the main set.
 */
#ifndef XP_POSIX_SOLO_H
#define XP_POSIX_SOLO_H

#include <stdatomic.h>

#include "sys/backend.h"

/* one set for each filter: READ, WRITE, EXCEPT */
enum { XP_SOLO_SETS = 3 };

struct xp_solo {
	/*
	 * descriptors of the sets; -1: not open.  Written with the queue's lock; waits read these
	 * without the lock.
	 */
	atomic_int fds[XP_SOLO_SETS];
	/* the last reading of the sets has filled its room, so they may have unread reports */
	atomic_bool may_have_unread;
	atomic_bool was_opened; /* one of the sets was ever opened */
	struct xp_counters *counters; /* the queue's counters, for system calls */
};

/* Initialise without opening a set. */
void xp_solo_init(struct xp_solo *solo, struct xp_counters *counters);
void xp_solo_fini(struct xp_solo *solo);
/* Returns true if fd is the descriptor of a solo set, an epoll set of entries for one filter. */
bool xp_solo_owns(const struct xp_solo *solo, int fd);

/* Open the set of filter i and add it to the main set, unless the set is open already. */
int xp_solo_open(struct xp_solo *solo, int main_fd, int i);

/*
 * Like `attach` and `change` of struct xp_backend_ops, for an entry in the set of one filter, which
 * the flag XP_WATCH_SOLO(filter) in `watch` selects.  A change without bits deletes the entry.
 */
int xp_solo_attach(struct xp_solo *solo, int main_fd, int fd, uint32_t watch,
                   uint64_t token);
int xp_solo_change(struct xp_solo *solo, int fd, uint32_t watch,
                   uint64_t token);

/*
 * `fired` has `count` reports of the main set.  Some of them stand for solo sets, the inner sets of
 * entries for one filter: replace these by the reports that the solo sets have.  Returns the new
 * number of reports, up to cap.
 */
int xp_solo_expand(struct xp_solo *solo, struct xp_fired *fired, int count,
                   int cap);

/* Replace each open solo set by a new, empty one, and add the new sets to this main set. */
void xp_solo_renew(struct xp_solo *solo, int main_fd);

/* Returns true if a solo set (an epoll set of entries for one filter) was ever opened. */
static inline bool xp_solo_was_opened(const struct xp_solo *solo)
{
	return atomic_load_explicit(&solo->was_opened, memory_order_relaxed);
}

/*
 * The slow path of xp_solo_take_unread: store reports of the solo sets (entries for one filter), at
 * most half of cap, rounded up.  Returns their number.
 */
int xp_solo_harvest_unread(struct xp_solo *solo, struct xp_fired *fired, int cap);

/*
 * Called before the main set is read.  If a solo set (entries for one filter, inside the main set)
 * may have unread reports from the last time, store reports of the solo sets in up to half of the
 * room: among the main set's reports each solo set is only one, so its own reports would starve.
 * Returns the number of reports stored.
 */
static inline int xp_solo_take_unread(struct xp_solo *solo, struct xp_fired *fired, int cap)
{
	if (!atomic_load_explicit(&solo->may_have_unread, memory_order_relaxed))
		return 0;
	return xp_solo_harvest_unread(solo, fired, cap);
}

#endif
