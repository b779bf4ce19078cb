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
#include <stdlib.h>

#include "workloads.h"

int looptest_start(const struct bench_pairs *pipes)
{
	bench_pairs_drain(pipes);
	return bench_give(&pipes->at[0]);
}

/* --- On xpoll, through the poll-like calls of the original ------------------ */

struct queue_state {
	const struct bench_pairs *pipes;
	struct xpoll *queue;
};

static int queue_register(struct xpoll *queue, struct bench_pair *pipe)
{
	if (xpoll_ctl(queue, XPOLL_ADD, POLLIN, pipe->read_fd, pipe) < 0 ||
	    xpoll_ctl(queue, XPOLL_ADD, POLLOUT, pipe->write_fd, pipe) < 0 ||
	    xpoll_ctl(queue, XPOLL_DISABLE, POLLOUT, pipe->write_fd, pipe) < 0)
		return -errno;
	return 0;
}

static int queue_fill(struct queue_state *state)
{
	for (int i = 0; i < state->pipes->len; i++) {
		int rc = queue_register(state->queue, &state->pipes->at[i]);

		if (rc < 0)
			return rc;
	}
	return looptest_start(state->pipes);
}

static void queue_close(void *opened)
{
	xpoll_destroy(((struct queue_state *)opened)->queue);
}

static int queue_open(void *opened, void *setup, const struct bench_way *way)
{
	struct queue_state *state = opened;
	struct xpoll_options options = { .size = sizeof options, .backend = way->backend };

	state->pipes = &((struct loop_field *)setup)->pairs;
	options.size_hint = 2 * state->pipes->len;
	state->queue = xpoll_open(&options);
	return state->queue == NULL ? -errno : queue_fill(state);
}

static int queue_readable(struct queue_state *state, struct bench_pair *pipe)
{
	const struct bench_pair *next = looptest_next(state->pipes, pipe);
	int rc = looptest_take(pipe);

	if (rc < 0)
		return rc;
	if (xpoll_ctl(state->queue, XPOLL_ENABLE, POLLOUT, next->write_fd, NULL) < 0)
		return -errno;
	return rc;
}

static int queue_writable(struct queue_state *state, struct bench_pair *pipe)
{
	if (xpoll_ctl(state->queue, XPOLL_DISABLE, POLLOUT, pipe->write_fd, NULL) < 0)
		return -errno;
	return bench_give(pipe);
}

static int queue_turn(void *opened)
{
	struct queue_state *state = opened;
	int reads = 0;
	void *pipe;
	int revents;

	if (xpoll_wait(state->queue, -1) < 0 && !bench_goes_on(errno))
		return -errno;
	while ((revents = xpoll_revents(state->queue, &pipe)) != 0) {
		int rc = revents & POLLIN ? queue_readable(state, pipe)
		                          : queue_writable(state, pipe);

		if (rc < 0)
			return rc;
		reads += rc;
	}
	return reads;
}

static int queue_run(void *state, uint64_t count)
{
	return looptest_turns(state, count, queue_turn);
}

static uint64_t queue_syscalls(const void *opened)
{
	return bench_calls + queue_calls(((const struct queue_state *)opened)->queue);
}

static const struct bench_ops queue_ops = {
	.size = sizeof(struct queue_state),
	.open = queue_open,
	.run = queue_run,
	.syscalls = queue_syscalls,
	.close = queue_close,
};

/* --- On a loop: a pipe has two ids, that of its read end is even ------------ */

struct loop_state {
	struct loop loop;
	const struct bench_pairs *pipes;
	struct loop_target *targets;
};

static void loop_state_close(void *opened)
{
	loop_close(opened);
	free(((struct loop_state *)opened)->targets);
}

static int loop_state_fill(struct loop_state *state)
{
	int rc = 0;

	for (int i = 0; i < 2 * state->pipes->len && rc >= 0; i++) {
		rc = loop_change(&state->loop, LOOP_ADD, &i, 1);
		if (rc >= 0 && i % 2 == 1)
			rc = loop_change(&state->loop, LOOP_DISABLE, &i, 1);
	}
	return rc < 0 ? rc : looptest_start(state->pipes);
}

static int loop_state_open(void *opened, void *field, const struct bench_way *way)
{
	struct loop_state *state = opened;
	struct loop_setup setup = { .mode = LOOP_LEVEL };
	int rc;

	state->pipes = &((struct loop_field *)field)->pairs;
	setup.len = 2 * state->pipes->len;
	state->targets = calloc((size_t)setup.len, sizeof *state->targets);
	if (state->targets == NULL)
		return -ENOMEM;
	for (int i = 0; i < setup.len; i++) {
		const struct bench_pair *pipe = &state->pipes->at[i / 2];

		state->targets[i] = i % 2 == 0
			? (struct loop_target){ pipe->read_fd, POLLIN }
			: (struct loop_target){ pipe->write_fd, POLLOUT };
	}
	setup.targets = state->targets;
	rc = loop_open(&state->loop, way, &setup, LOOPTEST_EVENTS);
	return rc < 0 ? rc : loop_state_fill(state);
}

/* How many reads this was, or -errno. */
static int loop_state_serve(struct loop_state *state, int id)
{
	struct bench_pair *pipe = &state->pipes->at[id / 2];
	int next = 2 * (int)(looptest_next(state->pipes, pipe) - state->pipes->at) + 1;
	int rc;

	if (id % 2 == 0) {
		rc = looptest_take(pipe);
		if (rc < 0 || loop_change(&state->loop, LOOP_ENABLE, &next, 1) >= 0)
			return rc;
		return -EIO;
	}
	rc = loop_change(&state->loop, LOOP_DISABLE, &id, 1);
	return rc < 0 ? rc : bench_give(pipe);
}

static int loop_state_turn(void *opened)
{
	struct loop_state *state = opened;
	int ready = loop_wait(&state->loop, NULL, 0, true);
	int reads = 0;

	for (int i = 0; i < ready; i++) {
		int rc = loop_state_serve(state, state->loop.hand.ready[i].id);

		if (rc < 0)
			return rc;
		reads += rc;
	}
	return ready < 0 ? ready : reads;
}

static int loop_state_run(void *state, uint64_t count)
{
	return looptest_turns(state, count, loop_state_turn);
}

const struct bench_ops looptest_loop_ops = {
	.size = sizeof(struct loop_state),
	.open = loop_state_open,
	.run = loop_state_run,
	.syscalls = loop_syscalls,
	.close = loop_state_close,
};

/* --- The limit: a program that knows beforehand what the kernel would report - */

struct limit_state {
	const struct bench_pairs *pipes;
	struct bench_pair *at; /* the token is in this pipe */
};

static int limit_open(void *opened, void *setup, const struct bench_way *way)
{
	struct limit_state *state = opened;

	(void)way;
	state->pipes = &((struct loop_field *)setup)->pairs;
	state->at = state->pipes->at;
	return looptest_start(state->pipes);
}

static int limit_run(void *opened, uint64_t count)
{
	struct limit_state *state = opened;
	int rc = 0;

	for (uint64_t reads = 0; reads < count && rc == 0; reads++) {
		rc = bench_take_given(state->at);
		if (rc < 0)
			break;
		state->at = looptest_next(state->pipes, state->at);
		rc = bench_give(state->at);
	}
	return rc;
}

static const struct bench_ops limit_ops = {
	.size = sizeof(struct limit_state),
	.open = limit_open,
	.run = limit_run,
};

const struct bench_variant looptest_limit = { .name = "limit", .ops = &limit_ops };

static const char looptest_help[] =
	"The benchmark of the original xpoll.  Both ends of N pipes are registered, the\n"
	"write ends disabled.  When a pipe is readable, the program reads it and enables\n"
	"the write end of the next pipe.  When a pipe is writable, it disables the write\n"
	"end and writes.  So each read goes with a write, two waits and two changes.\n"
	"\n"
	"xpoll-NAME   xpoll on a back end, through its poll-like calls\n"
	"raw-NAME     the same, written by hand on the kernel's own calls\n"
	"four-calls   by hand, the four system calls that xpoll makes on epoll, and\n"
	"             nothing else: the best that its method could reach\n"
	"libev, libevent, libuv   the same on these libraries, if they are here\n"
	PROGRAM_HELP
	"limit        the reads and writes alone\n"
	"\n"
	"The system calls of xpoll are taken from its counters, plus the program's reads\n"
	"and writes; those of the others are counted by the program that makes them.\n";

const struct bench_workload bench_looptest = {
	.name = "looptest",
	.summary = "one token goes round n pipes; interest changes with every event",
	.help = looptest_help,
	.unit = "read",
	.items = "pipes",
	.n_default = 8,
	.references = { "raw-epoll", "raw-poll", "four-calls", "limit" },
	.queue = &queue_ops,
	.active = (const int[]){ 1 },
	.programs = true,
	.rings = true,
	.peers = looptest_peers,
	.limit = &looptest_limit,
};
