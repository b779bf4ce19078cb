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
#include "loop.h"

int looptest_start(const struct bench_pairs *pipes)
{
	return bench_give(&pipes->at[0]);
}

/* --- On xpoll, through the poll-like calls of the original ------------------ */

struct queue_state {
	struct bench_turn turn;
	const struct bench_pairs *pipes;
	struct xpoll *queue;
};

static int queue_open(void *opened)
{
	struct queue_state *state = opened;
	struct xpoll_options options = {
		.size = sizeof options, .backend = state->turn.way->backend,
		.size_hint = state->turn.field->len,
	};

	state->pipes = &state->turn.field->pairs;
	state->queue = xpoll_open(&options);
	if (state->queue == NULL)
		return -errno;
	for (int i = 0; i < state->pipes->len; i++) {
		struct bench_pair *pipe = &state->pipes->at[i];

		if (xpoll_ctl(state->queue, XPOLL_ADD, POLLIN, pipe->read_fd, pipe) < 0 ||
		    xpoll_ctl(state->queue, XPOLL_ADD, POLLOUT, pipe->write_fd, pipe) < 0 ||
		    xpoll_ctl(state->queue, XPOLL_DISABLE, POLLOUT, pipe->write_fd, pipe) < 0)
			return -errno;
	}
	return looptest_start(state->pipes);
}

static void queue_close(void *opened)
{
	xpoll_destroy(((struct queue_state *)opened)->queue);
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

/* --- On a loop: a pipe has two ids, that of its read end is even ------------ */

static int ring_open(void *opened)
{
	struct bench_turn *turn = opened;
	int rc = 0;

	for (int i = 0; i < turn->field->len && rc >= 0; i++) {
		rc = loop_change(&turn->loop, LOOP_ADD, &i, 1);
		if (rc >= 0 && i % 2 == 1)
			rc = loop_change(&turn->loop, LOOP_DISABLE, &i, 1);
	}
	return rc < 0 ? rc : looptest_start(&turn->field->pairs);
}

/* How many reads this was, or -errno. */
static int ring_serve(struct bench_turn *turn, int id)
{
	const struct bench_pairs *pipes = &turn->field->pairs;
	struct bench_pair *pipe = &pipes->at[id / 2];
	int next = 2 * (int)(looptest_next(pipes, pipe) - pipes->at) + 1;
	int rc;

	if (id % 2 == 0) {
		rc = looptest_take(pipe);
		if (rc < 0 || loop_change(&turn->loop, LOOP_ENABLE, &next, 1) >= 0)
			return rc;
		return -EIO;
	}
	rc = loop_change(&turn->loop, LOOP_DISABLE, &id, 1);
	return rc < 0 ? rc : bench_give(pipe);
}

static int ring_turn(void *opened)
{
	struct bench_turn *turn = opened;
	int ready = loop_wait(&turn->loop, NULL, 0, true);
	int reads = 0;

	for (int i = 0; i < ready; i++) {
		int rc = ring_serve(turn, turn->loop.hand.ready[i].id);

		if (rc < 0)
			return rc;
		reads += rc;
	}
	return ready < 0 ? ready : reads;
}

static int ring_run(void *state, uint64_t count)
{
	return looptest_turns(state, count, ring_turn);
}

static const struct bench_ops looptest_loop_ops = {
	.room = LOOPTEST_EVENTS, .open = ring_open, .run = ring_run,
};

/* --- The limit: a program that knows beforehand what the kernel would report - */

struct limit_state {
	struct bench_turn turn;
	struct bench_pair *at; /* the token is in this pipe */
};

static int limit_open(void *opened)
{
	struct limit_state *state = opened;

	state->at = state->turn.field->pairs.at;
	return looptest_start(&state->turn.field->pairs);
}

static int limit_run(void *opened, uint64_t count)
{
	struct limit_state *state = opened;
	int rc = 0;

	for (uint64_t reads = 0; reads < count && rc == 0; reads++) {
		rc = bench_take(state->at);
		if (rc < 0)
			break;
		state->at = looptest_next(&state->turn.field->pairs, state->at);
		rc = bench_give(state->at);
	}
	return rc;
}

static const struct bench_ops limit_ops = {
	.size = sizeof(struct limit_state), .open = limit_open, .run = limit_run,
};

static const struct bench_variant looptest_limit = { .name = "limit", .ops = &limit_ops };

/* Of the kernel's calls by hand, those that change few descriptors are written out. */
static const struct bench_variant looptest_peers[] = {
	{ "raw-epoll", &looptest_epoll_ops, NULL },
	{ "four-calls", &looptest_four_ops, NULL },
	{ "raw-poll", &looptest_loop_ops, &loop_poll },
	{ "kevent", &looptest_loop_ops, &loop_kevent },
	{ "libevent", &looptest_loop_ops, &loop_libevent },
	{ "libuv", &looptest_loop_ops, &loop_libuv },
	{ 0 },
};

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
	"kevent       kevent(2) of libxpoll-kqueue, whose events have counts\n"
	"libevent, libuv   the same on these libraries, if they are here\n"
	PROGRAM_HELP
	"limit        the reads and writes alone\n"
	"\n"
	"The system calls of xpoll are taken from its counters, plus the program's reads\n"
	"and writes; those of the others are counted by the program that makes them.\n";

const struct bench_workload bench_looptest = {
	.name = "looptest", .unit = "read", .items = "pipes", .n_default = 8,
	.summary = "one token goes round n pipes; interest changes with every event",
	.help = looptest_help,
	.references = { "raw-epoll", "raw-poll", "four-calls", "limit" },
	.both_ends = true,
	.ops = {
		.size = sizeof(struct queue_state),
		.open = queue_open,
		.run = queue_run,
		.syscalls = queue_syscalls,
		.close = queue_close,
	},
	.active = (const int[]){ 1 },
	.programs = true,
	.rings = true,
	.peers = looptest_peers,
	.limit = &looptest_limit,
};
