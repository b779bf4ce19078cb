/*
 * looptest: one token goes round n pipes.
 *
 * The benchmark of the original xpoll.  Both ends of n pipes are registered:
 * the read ends for reading, the write ends for writing but disabled.  When a
 * read end is ready, its byte is read and the next pipe's write end is enabled;
 * when that is ready, it is disabled and a byte is written.  So each read takes
 * two waits, two changes of interest, one write and one read.
 *
 * What the README of the original prints as reads/sec counts iterations, two
 * for each read.  Here a read is a read.
 */
#ifndef BENCH_LOOPTEST_H
#define BENCH_LOOPTEST_H

#include "loop.h"

#define LOOPTEST_EVENTS 64 /* room for events in one wait */

struct looptest {
	struct bench_pairs opened;
	struct bench_pair *pipes; /* those */
	int n;
	int fd_max;
};

extern const struct bench_workload bench_looptest;

/* One for each way of waiting. */
extern const struct bench_ops looptest_queue_ops;
extern const struct bench_ops looptest_epoll_ops; /* where there is epoll */
extern const struct bench_ops looptest_four_calls_ops; /* likewise */
extern const struct bench_ops looptest_afd_ops;   /* on Windows */
extern const struct bench_ops looptest_poll_ops;
extern const struct bench_ops looptest_select_ops;
extern const struct bench_ops looptest_limit_ops;
extern const struct bench_ops looptest_loop_ops; /* other libraries */

/* Of the hand-written ones, those this system has; chosen by the build. */
extern const struct bench_variant looptest_peers[];

/* Empty all pipes, then put the token into the first one; 0 or -errno. */
int looptest_start(const struct looptest *test);

/* Take the token out; 1 (a read was done) or -errno. */
static inline int looptest_take(const struct bench_pair *pipe)
{
	int rc = bench_take(pipe);

	return rc < 0 ? rc : 1;
}

static inline struct bench_pair *looptest_next(const struct looptest *test,
                                                  const struct bench_pair *pipe)
{
	int index = (int)(pipe - test->pipes) + 1;

	return &test->pipes[index < test->n ? index : 0];
}

#endif
