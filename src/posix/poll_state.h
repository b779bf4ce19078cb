/*
 * The array of poll(2), which the select back end has as well: what select has found in
 * it is looked at once more in poll(2)'s terms, like what poll has found and not
 * reported.
 */
#ifndef XP_POSIX_POLL_STATE_H
#define XP_POSIX_POLL_STATE_H

#include "posix/array.h"

struct xp_poll_state {
	struct xp_array array;
	struct pollfd *fds;
	int len;      /* entries in use */
	int cap;      /* entries there is room for: >= attached + XP_OWN_ENTRIES */
	int start;    /* where the next scan begins */
	int left;     /* entries with revents that were not reported, at most */
	bool fresh;   /* the wait in progress has polled all entries */
	bool edges_last; /* the other way round than the last time */
};

int xp_poll_init(struct xp_poll_state *state, const struct xp_array_ops *ops,
                 struct xp_counters *counters);
/* The back end's `close`, also for select. */
void xp_poll_close(void *state);

/* The functions of struct xp_array_ops, also for select. */
int xp_poll_prepare(void *state, int fd);
void xp_poll_want(void *state, int fd, uint32_t bits);

/* The entries of its own, behind the others, for a look at all. */
struct pollfd *xp_poll_own(struct xp_poll_state *state);
/*
 * Begin a wait.  Returns true if it takes only what the last one left, without a call of its
 * own; syscalls_wait, which has counted one, is less again.
 */
bool xp_poll_takes_rest(struct xp_poll_state *state, int64_t deadline_ns);
/* Ask poll(2) about all, until the deadline; returns as poll(2) does, or -errno. */
int xp_poll_ask(struct xp_poll_state *state, int64_t deadline_ns, const sigset_t *mask);
/* Look once more at some of what is left, and at its own; report what is ready still. */
int xp_poll_again(struct xp_poll_state *state, struct xp_fired *fired, int cap);

#endif
