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
	/* this wait, or the wait that an XP_REST call continues, has polled all entries */
	bool fresh;
	bool edges_first; /* the last xp_poll_again reported edges before the array */
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
 * Store the back end's own entries (wake-up descriptor and set of edges) in `fds`, behind the other
 * entries.  Returns the first of these two.
 */
struct pollfd *xp_poll_own(struct xp_poll_state *state);
/*
 * Begin a wait.  Returns true if this XP_REST call only has to report results that the last poll(2)
 * of all entries left, and need not make a system call; then syscalls_wait, which has counted one,
 * is decremented.
 */
bool xp_poll_takes_rest(struct xp_poll_state *state, int64_t deadline_ns);
/*
 * Call poll(2) for all entries, which sleeps at most until the deadline.  Returns its result, or
 * -errno.
 */
int xp_poll_ask(struct xp_poll_state *state, int64_t deadline_ns, const sigset_t *mask);
/*
 * Poll up to cap of the entries with unreported revents once more, and the back end's own entries.
 * Stores reports of the entries that are still ready, and returns the number of reports.
 */
int xp_poll_again(struct xp_poll_state *state, struct xp_fired *fired, int cap);

#endif
