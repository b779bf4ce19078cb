/*
 * The workloads, and what some of them share with others or with the rivals' files.
 */
#ifndef BENCH_WORKLOADS_H
#define BENCH_WORKLOADS_H

#include "loop.h"

extern const struct bench_workload bench_looptest;
extern const struct bench_workload bench_active;
extern const struct bench_workload bench_idle;
extern const struct bench_workload bench_edge;
extern const struct bench_workload bench_dispatch;
extern const struct bench_workload bench_costs;
extern const struct bench_workload bench_wake;
extern const struct bench_workload bench_threads;
extern const struct bench_workload bench_handoff;
extern const struct bench_workload bench_changes;
extern const struct bench_workload bench_wake_all;
extern const struct bench_workload bench_listener;
extern const struct bench_workload bench_churn;
extern const struct bench_workload bench_http;
extern const struct bench_workload bench_memory;
extern const struct bench_workload bench_dropin;
extern const struct bench_workload bench_kqueue;
extern const struct bench_workload bench_kqueue_change;
extern const struct bench_workload bench_timers;
extern const struct bench_workload bench_user;
extern const struct bench_workload bench_aio;
extern const struct bench_workload bench_sources;
extern const struct bench_workload bench_files;
extern const struct bench_workload bench_track;
extern const struct bench_workload bench_nested;

#define WORKLOADS_EVERYWHERE \
	&bench_looptest, &bench_active, &bench_idle, &bench_edge, &bench_dispatch

/* queue.c: a new queue on this back end; NULL and errno. */
struct xpoll *queue_on(const char *backend);
/* System calls that this queue has made, or BENCH_UNKNOWN. */
uint64_t queue_calls(struct xpoll *queue);

/* --- looptest: one token goes round n pipes -------------------------------- */

#define LOOPTEST_EVENTS 64 /* room for events in one wait */

extern const struct bench_ops looptest_loop_ops;
extern const struct bench_ops looptest_epoll_ops; /* by hand, where there is epoll */
extern const struct bench_ops looptest_four_ops;  /* likewise */
extern const struct bench_variant looptest_limit;
extern const struct bench_variant looptest_peers[]; /* of this system */

/* Empty all pipes, then put the token into the first one; 0 or -errno. */
int looptest_start(const struct bench_pairs *pipes);

/* Take the token out; 1 (a read was done) or -errno. */
static inline int looptest_take(const struct bench_pair *pipe)
{
	int rc = bench_take(pipe);

	return rc < 0 ? rc : 1;
}

static inline struct bench_pair *looptest_next(const struct bench_pairs *pipes,
                                               const struct bench_pair *pipe)
{
	int index = (int)(pipe - pipes->at) + 1;

	return &pipes->at[index < pipes->len ? index : 0];
}

/* Take turns, each of which returns how many reads it did, until count are done. */
static inline int looptest_turns(void *state, uint64_t count, int (*turn)(void *state))
{
	for (uint64_t reads = 0; reads < count;) {
		int rc = turn(state);

		if (rc < 0)
			return rc;
		reads += (uint64_t)rc;
	}
	return 0;
}

/* --- serve: k active descriptors among n, in rounds ------------------------ */

#define SERVE_ACTIVE_MAX  256
#define SERVE_IDLE_ACTIVE 10 /* those of the workloads idle and drop-in */

extern const struct bench_ops serve_ops;
extern const struct bench_variant serve_limit;

/* k of this phase, at most n. */
int serve_active(const struct bench_way *way, int phase);
/* A byte into each of k pipes, evenly spread; 0 or -errno. */
int serve_write(const struct bench_pairs *pairs, int k);

/* Rounds of k operations, or of what is left of count; 0 or -errno. */
static inline int serve_rounds(void *state, uint64_t count, int k,
                               int (*round)(void *state, int k))
{
	int rc = 0;

	for (uint64_t left = count; left > 0 && rc >= 0; left -= (uint64_t)k) {
		k = left < (uint64_t)k ? (int)left : k;
		rc = round(state, k);
	}
	return rc < 0 ? rc : 0;
}

/* --- threads and listeners: system.c ---------------------------------------- */

#ifndef _WIN32
#include <netinet/in.h>
#include <pthread.h>
#include <sys/un.h>

/* A thread that gets no signals: those are for the one that measures; 0 or -errno. */
int bench_thread_start(pthread_t *thread, void *(*main)(void *argument), void *argument);

/* Read an eventfd that others write to; 0 or -errno. */
int bench_await(int fd);

/* A socket of this family that listens; address: where.  Its number, or -errno. */
struct bench_address {
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_un un; /* a name that is not in the file system */
	} to;
	socklen_t len;
};
int bench_listen(int family, int flags, int backlog, struct bench_address *address);
#endif

#endif
