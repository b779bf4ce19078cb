/*
 * costs: what each operation of a queue takes, as in the kqueue paper's figures
 * 10 to 13.
 *
 * A pass goes through the life of n sockets: they are registered, waited for
 * while none is ready, disabled and enabled twice (the first change of a stable
 * interest may be dearer than the next), waited for while all are ready, and
 * deleted.  Changes are followed by one wait that finds nothing, and it counts:
 * what they leave to be done by the next wait is part of what they take.
 */
#include "workloads.h"

#define WAITS 16 /* of each kind, in a pass */

enum {
	COSTS_ADD, COSTS_NONE, COSTS_FIRST, COSTS_DISABLE, COSTS_ENABLE, COSTS_ALL,
	COSTS_DELETE
};

static const char *const costs_phases[] = {
	"add", "wait, none", "1st disable", "disable", "enable", "wait, all", "delete",
	NULL
};

struct costs_state {
	struct loop loop;
	const struct bench_pairs *pairs;
};

static int costs_open(void *opened, void *setup, const struct bench_way *way)
{
	struct costs_state *state = opened;
	struct loop_field *field = setup;

	state->pairs = &field->pairs;
	return loop_open_on(&state->loop, way, field, field->pairs.len);
}

/* Find nothing; 0 or -errno. */
static int costs_look(struct costs_state *state)
{
	int count = loop_wait(&state->loop, NULL, 0, false);

	return count > 0 ? -EPROTO : count;
}

/* Find all of them, in one call or as many as it takes; 0 or -errno. */
static int costs_look_for_all(struct costs_state *state)
{
	int left = state->pairs->len;

	while (left > 0) {
		int count = loop_wait(&state->loop, NULL, 0, false);

		if (count <= 0)
			return count < 0 ? count : -EPROTO;
		left -= count;
	}
	return 0;
}

static int costs_repeat(struct costs_state *state, int (*look)(struct costs_state *))
{
	int rc = 0;

	for (int i = 0; i < WAITS && rc == 0; i++)
		rc = look(state);
	return rc;
}

static int costs_change(struct costs_state *state, enum loop_change change)
{
	int rc = loop_change_all(&state->loop, change, state->pairs->len);

	return rc < 0 ? rc : costs_look(state);
}

static int64_t costs_step(void *opened, int phase)
{
	struct costs_state *state = opened;
	int rc;

	if (phase == COSTS_NONE || phase == COSTS_ALL)
		rc = costs_repeat(state, phase == COSTS_NONE ? costs_look : costs_look_for_all);
	else
		rc = costs_change(state, phase == COSTS_ADD      ? LOOP_ADD
		                         : phase == COSTS_ENABLE ? LOOP_ENABLE
		                         : phase == COSTS_DELETE ? LOOP_DELETE : LOOP_DISABLE);
	if (rc < 0)
		return rc;
	return phase == COSTS_NONE || phase == COSTS_ALL ? WAITS : state->pairs->len;
}

/* What has to be before a phase. */
static int costs_phase(void *opened, int phase)
{
	struct costs_state *state = opened;
	const struct bench_pairs *pairs = state->pairs;
	int rc = 0;

	if (phase == COSTS_DISABLE)
		return costs_change(state, LOOP_ENABLE);
	if (phase == COSTS_DELETE)
		bench_pairs_drain(pairs);
	for (int i = 0; phase == COSTS_ALL && i < pairs->len && rc == 0; i++)
		rc = bench_give(&pairs->at[i]);
	return rc;
}

static const struct bench_ops costs_ops = {
	.size = sizeof(struct costs_state),
	.open = costs_open,
	.phase = costs_phase,
	.step = costs_step,
	.syscalls = loop_syscalls,
	.close = loop_close,
};

const struct bench_workload bench_costs = {
	.name = "costs",
	.summary = "add, delete, enable, disable; waits for none and for all",
	.help =
		"The operations of a queue one by one, on N sockets.\n"
		"\n"
		"add, disable, enable, delete   for each socket, 64 in a call, plus one wait\n"
		"              that finds nothing\n"
		"1st disable   of a socket that was never disabled before\n"
		"wait, none    one call, while nothing is ready\n"
		"wait, all     the calls that it takes to return all sockets, mostly one\n"
		LOOP_HELP
		"\n"
		"poll and select have no registration; the wait does that work.\n",
	.unit = "operation",
	.items = "sockets",
	.n_default = 1000,
	.phases = costs_phases,
	.references = { "raw-epoll", "raw-poll", "raw-select" },
	.kind = BENCH_SOCKETS,
	.queue = &costs_ops,
	.loops = LOOP_LEVEL,
};
