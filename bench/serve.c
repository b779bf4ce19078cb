/*
 * serve: the program, once on each loop, and its limit.
 */
#include "serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void serve_close_setup(void *setup)
{
	struct serve *test = setup;

	loop_field_close(test->field);
	free(test);
}

int serve_open_setup(const struct bench_workload *workload, const struct serve_plan *plan,
                     int n, void **setup)
{
	struct serve *test = calloc(1, sizeof *test);
	void *field;
	int rc;

	if (test == NULL) {
		bench_complain(workload, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	rc = loop_field_open(workload, plan->kind, plan->events, n, &field);
	if (rc < 0) {
		free(test);
		return rc;
	}
	test->plan = plan;
	test->field = field;
	*setup = test;
	return 0;
}

int serve_write(const struct serve *test, int k)
{
	int step = test->field->pairs.len / k;
	int rc = 0;

	for (int i = 0; i < k && rc == 0; i++)
		rc = bench_give(&test->field->pairs.at[i * step]);
	return rc;
}

struct serve_state {
	const struct serve *test;
	int active; /* k */
	struct loop loop;
	int dispatched[SERVE_ACTIVE_MAX]; /* ids to be enabled with the next wait */
	int dispatched_len;
};

static void serve_close(void *opened)
{
	struct serve_state *state = opened;

	loop_close(&state->loop);
	free(state);
}

/*
 * Edges that come with registering are over, as are the bytes of the variant
 * before: what is measured begins with nothing active.
 */
static int serve_settle(struct serve_state *state)
{
	int rc = loop_change_all(&state->loop, LOOP_ADD, state->test->field->pairs.len);

	while (rc >= 0) {
		rc = loop_wait(&state->loop, NULL, 0, false);
		if (rc == 0)
			break;
		if (state->test->plan->mode != LOOP_EDGE)
			return rc < 0 ? rc : -EPROTO;
	}
	return rc;
}

static int serve_open(void *setup, const struct bench_way *way, void **opened)
{
	struct serve_state *state = calloc(1, sizeof *state);
	const struct serve *test = setup;
	int rc;

	if (state == NULL)
		return -ENOMEM;
	state->test = test;
	state->active = serve_active(test, 0);
	rc = loop_open_on(&state->loop, way, test->field, test->plan->mode,
	                  SERVE_ACTIVE_MAX);
	if (rc < 0) {
		free(state);
		return rc;
	}
	rc = serve_settle(state);
	if (rc < 0)
		serve_close(state);
	else
		*opened = state;
	return rc;
}

static int serve_phase(void *opened, int phase)
{
	struct serve_state *state = opened;

	state->active = serve_active(state->test, phase);
	return 0;
}

/* Read where something is; how many reads that were, or -errno. */
static int serve_ready(struct serve_state *state, int count)
{
	const struct serve *test = state->test;
	bool dispatch = test->plan->mode == LOOP_DISPATCH;
	int reads = 0;

	for (int i = 0; i < count; i++) {
		const struct loop_ready *ready = &state->loop.hand.ready[i];
		int rc;

		if ((ready->events & POLLIN) == 0)
			continue;
		rc = bench_take(&test->field->pairs.at[ready->id]);
		if (rc < 0)
			return rc;
		if (dispatch)
			state->dispatched[state->dispatched_len++] = ready->id;
		reads++;
	}
	return reads;
}

static int serve_round(struct serve_state *state, int k)
{
	int rc = serve_write(state->test, k);
	int left = k;

	while (rc == 0 && left > 0) {
		int count = loop_wait(&state->loop, state->dispatched,
		                      state->dispatched_len, true);

		if (count < 0)
			return count;
		state->dispatched_len = 0;
		count = serve_ready(state, count);
		if (count < 0)
			return count;
		left -= count;
	}
	return rc;
}

static int serve_run(void *opened, uint64_t count)
{
	struct serve_state *state = opened;
	int rc = 0;

	while (count > 0 && rc == 0) {
		int k = count < (uint64_t)state->active ? (int)count : state->active;

		rc = serve_round(state, k);
		count -= (uint64_t)k;
	}
	return rc;
}

static uint64_t serve_syscalls(const void *opened)
{
	return loop_syscalls(&((const struct serve_state *)opened)->loop);
}

const struct bench_ops serve_ops = {
	.open = serve_open,
	.phase = serve_phase,
	.run = serve_run,
	.syscalls = serve_syscalls,
	.close = serve_close,
};

/* --- The limit: waiting costs nothing -------------------------------------- */

static int limit_open(void *setup, const struct bench_way *way, void **opened)
{
	struct serve_state *state = calloc(1, sizeof *state);

	(void)way;
	if (state == NULL)
		return -ENOMEM;
	state->test = setup;
	state->active = serve_active(state->test, 0);
	bench_pairs_drain(&state->test->field->pairs);
	*opened = state;
	return 0;
}

static int limit_run(void *opened, uint64_t count)
{
	struct serve_state *state = opened;
	const struct serve *test = state->test;
	int rc = 0;

	while (count > 0 && rc == 0) {
		int k = count < (uint64_t)state->active ? (int)count : state->active;
		int step = test->field->pairs.len / k;

		rc = serve_write(test, k);
		for (int i = 0; i < k && rc == 0; i++)
			rc = bench_take_given(&test->field->pairs.at[i * step]);
		count -= (uint64_t)k;
	}
	return rc;
}

static uint64_t limit_syscalls(const void *opened)
{
	(void)opened;
	return bench_calls;
}

static const struct bench_ops limit_ops = {
	.open = limit_open,
	.phase = serve_phase,
	.run = limit_run,
	.syscalls = limit_syscalls,
	.close = free,
};

const struct bench_variant serve_limit = { "limit", &limit_ops, NULL, NULL };
