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
#include "loop.h"

#define WAITS 16 /* of each kind, in a pass */

enum {
	COSTS_ADD, COSTS_NONE, COSTS_FIRST, COSTS_DISABLE, COSTS_ENABLE, COSTS_ALL,
	COSTS_DELETE
};

static const char *const costs_phases[] = {
	"add", "wait, none", "1st disable", "disable", "enable", "wait, all", "delete",
	NULL
};

/* Find nothing; 0 or -errno. */
static int costs_look(struct bench_turn *turn)
{
	int count = loop_wait(&turn->loop, NULL, 0, false);

	return count > 0 ? -EPROTO : count;
}

/* Find all of them, in one call or as many as it takes; 0 or -errno. */
static int costs_look_for_all(struct bench_turn *turn)
{
	int left = turn->field->len;

	while (left > 0) {
		int count = loop_wait(&turn->loop, NULL, 0, false);

		if (count <= 0)
			return count < 0 ? count : -EPROTO;
		left -= count;
	}
	return 0;
}

static int costs_change(struct bench_turn *turn, enum loop_change change)
{
	int rc = loop_change_all(&turn->loop, change, turn->field->len);

	return rc < 0 ? rc : costs_look(turn);
}

static int64_t costs_step(void *turn, int phase)
{
	static const enum loop_change changes[] = {
		[COSTS_ADD] = LOOP_ADD, [COSTS_FIRST] = LOOP_DISABLE,
		[COSTS_DISABLE] = LOOP_DISABLE, [COSTS_ENABLE] = LOOP_ENABLE,
		[COSTS_DELETE] = LOOP_DELETE,
	};
	bool waits = phase == COSTS_NONE || phase == COSTS_ALL;
	int rc = waits ? 0 : costs_change(turn, changes[phase]);

	for (int i = 0; i < WAITS && rc == 0 && waits; i++)
		rc = phase == COSTS_NONE ? costs_look(turn) : costs_look_for_all(turn);
	if (rc < 0)
		return rc;
	return waits ? WAITS : ((struct bench_turn *)turn)->field->len;
}

/* What has to be before a phase. */
static int costs_phase(void *turn, int phase)
{
	const struct bench_pairs *pairs = &((struct bench_turn *)turn)->field->pairs;
	int rc = 0;

	if (phase == COSTS_DISABLE)
		return costs_change(turn, LOOP_ENABLE);
	if (phase == COSTS_DELETE)
		bench_pairs_drain(pairs);
	for (int i = 0; phase == COSTS_ALL && i < pairs->len && rc == 0; i++)
		rc = bench_give(&pairs->at[i]);
	return rc;
}

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
	.phases = costs_phases,
	.references = { "raw-epoll", "raw-poll" },
	.kind = BENCH_SOCKETS,
	.ops = { .room = BENCH_ROOM_N, .phase = costs_phase, .step = costs_step },
	.loops = LOOP_LEVEL,
};
