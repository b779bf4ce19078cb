/*
 * The array of poll(2), which the select back end uses, too: it polls the descriptors that
 * select(2) found once more, to have the bits of poll(2).
 */
#ifndef XP_POSIX_POLL_STATE_H
#define XP_POSIX_POLL_STATE_H

#include "posix/array.h"

struct xp_poll_state {
	struct xp_array array;
	struct pollfd *fds;
	int len;      /* entries in use */
	int cap;      /* capacity of fds: at least attached + XP_OWN_ENTRIES */
	int start;    /* index at which the next scan begins */
	int left;     /* upper bound of the entries with unreported revents */
	bool fresh;   /* the wait in progress has polled all entries */
	bool edges_last; /* edges come last in this wait; toggled by each */
};

int xp_poll_init(struct xp_poll_state *state, const struct xp_array_ops *ops,
                 struct xp_counters *counters);
/* The back end's `close`, also for select. */
void xp_poll_close(void *state);

/* The functions of struct xp_array_ops, also for select. */
int xp_poll_prepare(void *state, int fd);
void xp_poll_want(void *state, int fd, uint32_t bits);

/* Append the back end's own entries to the array.  Returns the first of them. */
struct pollfd *xp_poll_own(struct xp_poll_state *state);
/*
 * Begin a wait.  Returns true if it has to report only results that the last one left, without a
 * system call; syscalls_wait, which has counted one, is decremented.
 */
bool xp_poll_takes_rest(struct xp_poll_state *state, int64_t deadline_ns);
/* Call poll(2) for all entries, until the deadline.  Returns its result, or -errno. */
int xp_poll_ask(struct xp_poll_state *state, int64_t deadline_ns, const sigset_t *mask);
/*
 * Poll some of the remaining ready entries, and the back end's own, once more.  Stores reports of
 * those that are still ready; returns their number.
 */
int xp_poll_again(struct xp_poll_state *state, struct xp_fired *fired, int cap);

#endif
