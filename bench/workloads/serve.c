/*
 * active, idle, nested, edge, dispatch: k active descriptors among n, in rounds.
 *
 * In a round k of n pipes get a byte each; the program waits until it has read them all.  The
 * active pipes are spread evenly and stay the same.  All are one program; they differ in k and in
 * how the descriptors are registered.
 */
#include "loop.h"

#define SERVE_ACTIVE_MAX 256

/* Write a byte to each of k pipes, which are spread evenly.  Returns 0 or -errno. */
static int serve_write(const struct bench_pairs *pairs, int k)
{
	int step = pairs->len / k;
	int rc = 0;

	for (int i = 0; i < k && rc == 0; i++)
		rc = bench_give(&pairs->at[i * step]);
	return rc;
}

struct serve_state {
	struct loop outer; /* nested: another loop, which watches the turn's loop only */
	struct loop_target target;
	/* dispatch: events whose pipes the next wait enables */
	struct loop_ready dispatched[SERVE_ACTIVE_MAX];
	int dispatched_len;
};

static int serve_open_outer(struct bench_turn *turn)
{
	struct serve_state *state = turn->own;
	struct bench_field field = { .targets = &state->target, .len = 1 };
	int first = 0;
	int rc = turn->loop.ops->fd(turn->loop.state);

	state->target = (struct loop_target){ .fd = rc, .events = POLLIN };
	if (rc >= 0)
		rc = loop_open(&state->outer, turn->way, &field, 1);
	return rc < 0 ? rc : loop_change(&state->outer, LOOP_ADD, &first, 1);
}

/*
 * Register all pipes, and take the edges that this causes: the measurement begins with nothing
 * active.
 */
static int serve_open(struct bench_turn *turn)
{
	unsigned uses = turn->way->workload->loops;
	int rc = loop_change_all(&turn->loop, LOOP_ADD, turn->field->len);

	while (rc >= 0) {
		rc = loop_wait(&turn->loop, false);
		if (rc == 0)
			break;
		if ((uses & LOOP_EDGE) == 0)
			return rc < 0 ? rc : -EPROTO;
	}
	return rc >= 0 && uses & LOOP_NESTS ? serve_open_outer(turn) : rc;
}

static void serve_close(struct bench_turn *turn)
{
	loop_close(&((struct serve_state *)turn->own)->outer);
}

static uint64_t serve_syscalls(const struct bench_turn *turn)
{
	const struct serve_state *state = turn->own;
	uint64_t calls = loop_syscalls(&turn->loop);

	/* Both numbers contain the system calls of this thread. */
	return calls == BENCH_UNKNOWN || state->outer.ops == NULL
		? calls : calls + loop_syscalls(&state->outer) - bench_calls;
}

/* Read the pipes that are reported.  Returns the number of reads, or -errno. */
static int serve_ready(struct bench_turn *turn, int count)
{
	struct serve_state *state = turn->own;
	bool dispatch = (turn->way->workload->loops & LOOP_DISPATCH) != 0;
	int reads = 0;

	for (int i = 0; i < count; i++) {
		const struct loop_ready *ready = &turn->loop.hand.ready[i];
		int rc;

		if ((ready->events & POLLIN) == 0)
			continue;
		rc = bench_take(&turn->field->pairs.at[ready->id]);
		if (rc < 0)
			return rc;
		if (dispatch)
			state->dispatched[state->dispatched_len++] = *ready;
		reads++;
	}
	return reads;
}

/* Do a round. */
static int serve_run(struct bench_turn *turn)
{
	struct serve_state *state = turn->own;
	bool nested = state->outer.ops != NULL;
	int k = bench_round(turn);
	int rc = serve_write(&turn->field->pairs, k);
	int left = k;

	while (rc == 0 && left > 0) {
		int count = nested ? loop_wait(&state->outer, true) : 0;

		if (count >= 0)
			count = loop_enable_and_wait(&turn->loop, state->dispatched,
			                             state->dispatched_len, !nested);
		if (count < 0)
			return count;
		state->dispatched_len = 0;
		count = serve_ready(turn, count);
		if (count < 0)
			return count;
		left -= count;
	}
	return rc < 0 ? rc : k;
}

#define SERVE_OPS { \
	.size = sizeof(struct serve_state), .room = SERVE_ACTIVE_MAX, .open = serve_open, \
	.run = serve_run, .syscalls = serve_syscalls, .close = serve_close, \
}

const struct bench_ops serve_ops = SERVE_OPS;

/* --- The limit: waiting costs nothing ---------------------------------------- */

static int limit_run(struct bench_turn *turn)
{
	const struct bench_pairs *pairs = &turn->field->pairs;
	int k = bench_round(turn);
	int rc = serve_write(pairs, k);

	for (int i = 0; i < k && rc == 0; i++)
		rc = bench_take(&pairs->at[i * (pairs->len / k)]);
	return rc < 0 ? rc : k;
}

static const struct bench_ops limit_ops = { .run = limit_run };

const struct bench_variant serve_limit = { .name = "limit", .ops = &limit_ops };

/* --- The workloads ----------------------------------------------------------- */

#define LIMIT_HELP "limit        the writes and reads alone\n"

/* Members that all workloads of this file share. */
#define SERVE .unit = "read", .ops = SERVE_OPS, .limit = &serve_limit

/* Members of those with three phases. */
#define SERVE_PHASES \
	SERVE, .n_default = 1000, .phases = { \
		{ .name = "k=1", .value = 1 }, { .name = "k=16", .value = 16 }, \
		{ .name = "k=256", .value = 256 } \
	}

const struct bench_workload bench_active = {
	SERVE_PHASES,
	.name = "active", .items = "pipes",
	.summary = "k of n descriptors are ready; nothing is ever changed",
	.help =
		"N pipes are registered for reading, and nothing is changed.  In a round k of\n"
		"them get a byte; the program waits and reads until it has read them all.\n"
		LOOP_HELP PROGRAM_HELP LIMIT_HELP,
	.references = LOOP_REFERENCES,
	.programs = true,
	.loops = LOOP_LEVEL,
};

const struct bench_workload bench_idle = {
	SERVE,
	.name = "idle", .items = "pipes", .n_default = 9000,
	.summary = "10 active descriptors among n that are idle",
	.help =
		"As active, with 10 active pipes among N: what do the idle ones cost?\n"
		LOOP_HELP PROGRAM_HELP LIMIT_HELP,
	.references = LOOP_REFERENCES,
	.phases = { { .value = SERVE_IDLE_ACTIVE } },
	.programs = true,
	.loops = LOOP_LEVEL,
};

const struct bench_workload bench_nested = {
	SERVE_PHASES,
	.name = "nested", .items = "pipes",
	.summary = "a queue in a queue: both are waited for",
	.help =
		"As active, but a second queue watches the descriptor of the first one: it is\n"
		"waited for, then the first one is looked at.\n"
		LOOP_HELP LIMIT_HELP,
	.references = { "raw-epoll", "limit" },
	.loops = LOOP_LEVEL | LOOP_NESTS,
};

const struct bench_workload bench_edge = {
	SERVE_PHASES,
	.name = "edge", .items = "sockets",
	.summary = "edge-triggered in both directions; nothing is changed",
	.help =
		"As active, on socket pairs that are registered edge-triggered, for reading and\n"
		"writing.\n"
		LOOP_HELP LIMIT_HELP,
	.references = { "raw-epoll", "limit" },
	.kind = BENCH_SOCKETS,
	.events = POLLOUT,
	.loops = LOOP_EDGE,
};

const struct bench_workload bench_dispatch = {
	SERVE_PHASES,
	.name = "dispatch", .items = "pipes",
	.summary = "an event disables its descriptor until it was handled",
	.help =
		"As active, but an event disables its descriptor (XPOLL_DISPATCH, EPOLLONESHOT),\n"
		"as with a pool of threads; those that were read are enabled with the next wait.\n"
		LOOP_HELP LIMIT_HELP,
	.references = LOOP_REFERENCES,
	.loops = LOOP_DISPATCH,
};
