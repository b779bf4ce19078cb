/*
 * looptest: one token goes round n pipes.
 *
 * The benchmark of the original xpoll.  Both ends of n pipes are registered: the read ends for
 * reading, the write ends for writing, but disabled.  When a read end is ready, its byte is read
 * and the next pipe's write end is enabled; when that one is ready, it is disabled and a byte is
 * written.  So each read takes two waits, two changes of interest, one write and one read.
 *
 * The README of the original prints iterations as reads/sec, two for each read.  Here a read counts
 * as one.
 */
#include <sys/epoll.h>

#include "loop.h"

#define LOOPTEST_EVENTS 64 /* most events that one wait returns */

/* Write the token, a byte, into the first pipe.  Returns 0 or -errno. */
static int looptest_start(const struct bench_pairs *pipes)
{
	return bench_give(&pipes->at[0]);
}

/* Read the token from a pipe.  Returns 1, the number of reads, or -errno. */
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

/* Call `turn`, which returns the number of its reads, until `count` reads are done. */
static inline int looptest_turns(void *state, int count, int (*turn)(void *state))
{
	int reads = 0;

	while (reads < count) {
		int rc = turn(state);

		if (rc < 0)
			return rc;
		reads += rc;
	}
	return reads;
}

/* --- On xpoll, through the poll-like calls of the original ------------------ */

int looptest_open(struct bench_turn *turn)
{
	struct looptest *state = turn->own;
	struct xpoll_options options = {
		.size = sizeof options, .backend = turn->way->backend,
		.size_hint = turn->field->len,
	};

	state->pipes = &turn->field->pairs;
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

void looptest_close(struct bench_turn *turn)
{
	xpoll_destroy(((struct looptest *)turn->own)->queue);
}

static int queue_readable(struct looptest *state, struct bench_pair *pipe)
{
	const struct bench_pair *next = looptest_next(state->pipes, pipe);
	int rc = looptest_take(pipe);

	if (rc < 0)
		return rc;
	if (xpoll_ctl(state->queue, XPOLL_ENABLE, POLLOUT, next->write_fd, NULL) < 0)
		return -errno;
	return rc;
}

static int queue_writable(struct looptest *state, struct bench_pair *pipe)
{
	if (xpoll_ctl(state->queue, XPOLL_DISABLE, POLLOUT, pipe->write_fd, NULL) < 0)
		return -errno;
	return bench_give(pipe);
}

static int queue_turn(void *opened)
{
	struct looptest *state = opened;
	int reads = 0;
	void *pipe;
	int revents;

	if (xpoll_wait(state->queue, -1) < 0 && !bench_goes_on(errno))
		return -errno;
	while ((revents = xpoll_revents(state->queue, &pipe)) != 0) {
		int rc;

		if (pipe == NULL) /* of another registration in the queue (beside.c) */
			continue;
		rc = revents & POLLIN ? queue_readable(state, pipe)
		                          : queue_writable(state, pipe);

		if (rc < 0)
			return rc;
		reads += rc;
	}
	return reads;
}

int looptest_run(struct bench_turn *turn)
{
	return looptest_turns(turn->own, turn->count, queue_turn);
}

uint64_t looptest_syscalls(const struct bench_turn *turn)
{
	return bench_calls + queue_calls(((const struct looptest *)turn->own)->queue);
}

/* --- By hand on epoll(7), in two ways -------------------------------------------
 *
 * raw-epoll: level-triggered, one epoll_ctl(MOD) for each change.  A write end that is not
 * wanted stays in the set with an empty mask.
 *
 * four-calls: only the system calls that xpoll makes on epoll.  Each end is registered once,
 * the read ends level-triggered and the write ends edge-triggered, and poll(2) with timeout 0
 * checks the write end that is wanted.  At most one is, so no bookkeeping is needed.  This is
 * the best that the method of xpoll can reach.
 */
struct token_state {
	const struct bench_pairs *pipes;
	struct bench_pair *wanted; /* four-calls: the pipe whose write end is wanted; NULL: none */
	int fd;
	struct epoll_event events[LOOPTEST_EVENTS];
};

static int token_change(struct token_state *state, int op, int fd, uint32_t events,
                        struct bench_pair *pipe)
{
	struct epoll_event event = { .events = events, .data.ptr = pipe };

	bench_calls++;
	return epoll_ctl(state->fd, op, fd, &event) < 0 ? -errno : 0;
}

static int token_fill(struct bench_turn *turn, uint32_t write_events)
{
	struct token_state *state = turn->own;
	int rc = 0;

	state->pipes = &turn->field->pairs;
	state->fd = epoll_create1(EPOLL_CLOEXEC);
	if (state->fd < 0)
		return -errno;
	for (int i = 0; i < state->pipes->len && rc == 0; i++) {
		struct bench_pair *pipe = &state->pipes->at[i];

		rc = token_change(state, EPOLL_CTL_ADD, pipe->read_fd, EPOLLIN, pipe);
		if (rc == 0)
			rc = token_change(state, EPOLL_CTL_ADD, pipe->write_fd,
			                  write_events, pipe);
	}
	return rc < 0 ? rc : looptest_start(state->pipes);
}

static void token_close(struct bench_turn *turn)
{
	const struct token_state *state = turn->own;

	if (state->fd >= 0)
		close(state->fd);
}

/* Wait, and pass each event to `serve`.  Returns the number of reads, or -errno. */
static inline int token_serve(struct token_state *state,
                              int (*serve)(struct token_state *, const struct epoll_event *))
{
	int ready = epoll_wait(state->fd, state->events, LOOPTEST_EVENTS, -1);
	int reads = 0;

	bench_calls++;
	if (ready < 0 && !bench_goes_on(errno))
		return -errno;
	for (int i = 0; i < ready; i++) {
		int rc = serve(state, &state->events[i]);

		if (rc < 0)
			return rc;
		reads += rc;
	}
	return reads;
}

int looptest_epoll(const struct bench_turn *turn)
{
	return ((const struct token_state *)turn->own)->fd;
}

/* --- raw-epoll --------------------------------------------------------------- */

static int raw_open(struct bench_turn *turn)
{
	return token_fill(turn, 0);
}

static int raw_event(struct token_state *state, const struct epoll_event *event)
{
	struct bench_pair *pipe = event->data.ptr;
	struct bench_pair *next;
	int changed;
	int rc;

	if ((event->events & EPOLLIN) == 0) {
		rc = token_change(state, EPOLL_CTL_MOD, pipe->write_fd, 0, pipe);
		return rc < 0 ? rc : bench_give(pipe);
	}
	next = looptest_next(state->pipes, pipe);
	rc = looptest_take(pipe);
	if (rc < 0)
		return rc;
	changed = token_change(state, EPOLL_CTL_MOD, next->write_fd, EPOLLOUT, next);
	return changed < 0 ? changed : rc;
}

static int raw_turn(void *state)
{
	return token_serve(state, raw_event);
}

static int raw_run(struct bench_turn *turn)
{
	return looptest_turns(turn->own, turn->count, raw_turn);
}

const struct bench_ops looptest_epoll_ops = {
	.size = sizeof(struct token_state),
	.open = raw_open,
	.run = raw_run,
	.close = token_close,
};

/* --- four-calls -------------------------------------------------------------- */

static int four_open(struct bench_turn *turn)
{
	return token_fill(turn, EPOLLOUT | EPOLLET);
}

/* The wanted write end is ready: want it no longer, and write to it. */
static int four_writable(struct token_state *state)
{
	struct bench_pair *pipe = state->wanted;

	state->wanted = NULL;
	return bench_give(pipe);
}

static int four_event(struct token_state *state, const struct epoll_event *event)
{
	struct bench_pair *pipe = event->data.ptr;

	if (event->events & EPOLLIN) {
		state->wanted = looptest_next(state->pipes, pipe);
		return looptest_take(pipe);
	}
	/* Ignore an edge of a write end that is not wanted. */
	return pipe == state->wanted ? four_writable(state) : 0;
}

static int four_probe(struct token_state *state)
{
	struct pollfd probe = { .fd = state->wanted->write_fd, .events = POLLOUT };
	int rc = poll(&probe, 1, 0);

	bench_calls++;
	if (rc > 0)
		return four_writable(state);
	return rc < 0 && !bench_goes_on(errno) ? -errno : 0;
}

static int four_turn(void *opened)
{
	struct token_state *state = opened;
	int rc = state->wanted != NULL ? four_probe(state) : 0;

	return rc < 0 ? rc : token_serve(state, four_event);
}

static int four_run(struct bench_turn *turn)
{
	return looptest_turns(turn->own, turn->count, four_turn);
}

static const struct bench_ops looptest_four_ops = {
	.size = sizeof(struct token_state),
	.open = four_open,
	.run = four_run,
	.close = token_close,
};

/* --- On a loop: the read end of pipe i has the id 2i, the write end 2i + 1 -------- */

static int ring_open(struct bench_turn *turn)
{
	int rc = 0;

	for (int i = 0; i < turn->field->len && rc >= 0; i++) {
		rc = loop_change(&turn->loop, LOOP_ADD, &i, 1);
		if (rc >= 0 && i % 2 == 1)
			rc = loop_change(&turn->loop, LOOP_DISABLE, &i, 1);
	}
	return rc < 0 ? rc : looptest_start(&turn->field->pairs);
}

/* Serve an event.  Returns the number of reads, or -errno. */
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

static int ring_run(struct bench_turn *turn)
{
	int ready = loop_wait(&turn->loop, true);
	int reads = 0;

	for (int i = 0; i < ready; i++) {
		int rc = ring_serve(turn, turn->loop.hand.ready[i].id);

		if (rc < 0)
			return rc;
		reads += rc;
	}
	return ready < 0 ? ready : reads;
}

const struct bench_ops looptest_loop_ops = {
	.room = LOOPTEST_EVENTS, .open = ring_open, .run = ring_run,
};

/* --- The limit: a program that knows beforehand what the kernel would report - */

static int limit_open(struct bench_turn *turn)
{
	return looptest_start(&turn->field->pairs);
}

static int limit_run(struct bench_turn *turn)
{
	const struct bench_pair **at = turn->own; /* the pipe that has the token */
	const struct bench_pairs *pipes = &turn->field->pairs;

	if (*at == NULL)
		*at = pipes->at;
	for (int reads = 0; reads < turn->count; reads++) {
		int rc = bench_take(*at);

		*at = looptest_next(pipes, *at);
		if (rc == 0)
			rc = bench_give(*at);
		if (rc < 0)
			return rc;
	}
	return turn->count;
}

static const struct bench_ops limit_ops = {
	.size = sizeof(struct bench_pair *), .open = limit_open, .run = limit_run,
};

static const struct bench_variant looptest_limit = { .name = "limit", .ops = &limit_ops };

/* The variants on epoll(7) by hand are functions of this file; the others are loops. */
static const struct bench_variant looptest_peers[] = {
	{ "raw-epoll", &looptest_epoll_ops, NULL },
	{ "four-calls", &looptest_four_ops, NULL },
	{ "raw-poll", &looptest_loop_ops, &loop_poll },
	{ "kevent", &looptest_loop_ops, &loop_kevent },
	{ "libkqueue", &looptest_loop_ops, &loop_libkqueue },
	{ "libevent", &looptest_loop_ops, &loop_libevent },
	{ "libev", &looptest_loop_ops, &loop_libev },
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
	"kevent, libkqueue   the same on kevent(2) of libxpoll-kqueue and of libkqueue,\n"
	"             whose events have counts\n"
	"libevent, libev, libuv   the same on these libraries, if they are here\n"
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
	.ops = LOOPTEST_OPS,
	.phases = { { .value = 1 } },
	.programs = true,
	.rings = true,
	.peers = looptest_peers,
	.limit = &looptest_limit,
};
