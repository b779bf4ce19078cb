/*
 * The state of the poll back end, and functions that the select back end shares: after select(2) it
 * polls the descriptors that select(2) found, because only poll(2) returns the bits of poll(2).
 */
#ifndef XP_POSIX_POLL_STATE_H
#define XP_POSIX_POLL_STATE_H

#include "posix/array.h"

struct xp_poll_state {
	struct xp_array array;
	struct pollfd *fds;
	int len;      /* number of entries in use, without the back end's own */
	int cap;      /* capacity of fds: at least attached + XP_OWN_ENTRIES */
	int start;    /* index at which the next scan for revents begins */
	int left;     /* upper bound of the number of entries whose revents are not reported yet */
	/* this wait, or the wait that an XP_NOW_CONTINUED call continues, has polled all entries */
	bool has_polled_all;
	bool edges_first; /* the last xp_poll_recheck_ready reported edges before the array */
};

/* Initialise the state, for poll and select.  Returns 0 or a negative errno value. */
int xp_poll_init(struct xp_poll_state *state, const struct xp_array_ops *ops,
                 struct xp_counters *counters);
/* The `close` of the poll back end, which select calls, too. */
void xp_poll_close(void *state);

/* Functions of struct xp_array_ops, for poll and select. */
int xp_poll_prepare(void *state, int fd);
void xp_poll_want(void *state, int fd, uint32_t bits);

/*
 * Store the back end's own entries, for its wake-up descriptor and the set of edge-triggered
 * descriptors, in `fds`, behind the other entries.  Returns the first of these two.
 */
struct pollfd *xp_poll_append_own(struct xp_poll_state *state);
/*
 * Begin a wait, or continue it (deadline_ns is XP_NOW_CONTINUED: the queue has made room, and calls
 * again).  Returns true if this wait has polled all entries already: then the caller only reports
 * the results that are left, without a system call.  The queue has counted one for this call in
 * advance, in syscalls_wait; in that case this function subtracts 1 there.
 */
bool xp_poll_takes_rest(struct xp_poll_state *state, int64_t deadline_ns);
/*
 * Call poll(2) for all entries, and sleep in that call at most until the deadline.  Returns the
 * result of poll(2), or -errno.
 */
int xp_poll_ask(struct xp_poll_state *state, int64_t deadline_ns, const sigset_t *mask);
/*
 * Poll up to cap of the entries with unreported revents once more, and the back end's own entries.
 * Stores reports of the entries that are still ready, and returns the number of reports.
 */
int xp_poll_recheck_ready(struct xp_poll_state *state, struct xp_fired *fired, int cap);

#endif
