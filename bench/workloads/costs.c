/*
 * costs: what each operation of a queue takes, like figures 10 to 13 of the kqueue paper.
 *
 * A pass goes through the life of n sockets: they are registered, waited for while none is ready,
 * disabled and enabled twice (the first change of a stable interest may cost more than the next),
 * waited for while all are ready, and deleted.  Each kind of change is followed by one wait that
 * finds nothing, which is measured with it, because changes may leave work to the next wait.
 */
#include "loop.h"

#define WAITS 16 /* waits of each kind in a pass */

/* Make a wait that finds nothing.  Returns 0 or -errno. */
static int costs_look(struct bench_turn *turn)
{
	int count = loop_wait(&turn->loop, false);

	return count > 0 ? -EPROTO : count;
}

/* Wait until all sockets were reported, mostly in one call.  Returns 0 or -errno. */
static int costs_look_for_all(struct bench_turn *turn)
{
	int left = turn->field->len;

	while (left > 0) {
		int count = loop_wait(&turn->loop, false);

		if (count <= 0)
			return count < 0 ? count : -EPROTO;
		left -= count;
	}
	return 0;
}

/* Change all sockets, and make a wait that finds nothing. */
static int costs_apply(struct bench_turn *turn, enum loop_change change)
{
	int rc = loop_change_all(&turn->loop, change, turn->field->len);

	return rc < 0 ? rc : costs_look(turn);
}

/* --- Phases, and what prepares them ---------------------------------------------- */

static int costs_change(struct bench_turn *turn)
{
	int rc = costs_apply(turn, (enum loop_change)turn->phase->value);

	return rc < 0 ? rc : turn->field->len;
}

static int costs_wait(struct bench_turn *turn)
{
	int rc = 0;

	for (int i = 0; i < WAITS && rc == 0; i++)
		rc = turn->phase->prepare == NULL ? costs_look(turn) : costs_look_for_all(turn);
	return rc < 0 ? rc : WAITS;
}

static int costs_enable(struct bench_turn *turn)
{
	return costs_apply(turn, LOOP_ENABLE);
}

static int costs_fill(struct bench_turn *turn)
{
	const struct bench_pairs *pairs = &turn->field->pairs;
	int rc = 0;

	for (int i = 0; i < pairs->len && rc == 0; i++)
		rc = bench_give(&pairs->at[i]);
	return rc;
}

static int costs_drain(struct bench_turn *turn)
{
	bench_pairs_drain(&turn->field->pairs);
	return 0;
}

#define CHANGE(change) .run = costs_change, .value = (change)

const struct bench_workload bench_costs = {
	.name = "costs", .unit = "operation", .items = "sockets", .n_default = 1000,
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
		"poll has no registration; the wait does that work.\n",
	.phases = {
		{ .name = "add", CHANGE(LOOP_ADD) },
		{ .name = "wait, none", .run = costs_wait },
		{ .name = "1st disable", CHANGE(LOOP_DISABLE) },
		{ .name = "disable", CHANGE(LOOP_DISABLE), .prepare = costs_enable },
		{ .name = "enable", CHANGE(LOOP_ENABLE) },
		{ .name = "wait, all", .run = costs_wait, .prepare = costs_fill },
		{ .name = "delete", CHANGE(LOOP_DELETE), .prepare = costs_drain },
	},
	.references = { "raw-epoll", "raw-poll" },
	.kind = BENCH_SOCKETS,
	.ops = { .room = BENCH_ROOM_N, .passes = true },
	.loops = LOOP_LEVEL,
};
