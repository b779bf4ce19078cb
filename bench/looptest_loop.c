/*
 * looptest on a loop: the libraries.  A pipe has two ids, that of its read end
 * is even.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "looptest.h"

struct loop_state {
	const struct looptest *test;
	struct loop_target *targets;
	struct loop loop;
};

static void loop_state_close(void *opened)
{
	struct loop_state *state = opened;

	loop_close(&state->loop);
	free(state->targets);
	free(state);
}

static int loop_state_fill(struct loop_state *state)
{
	int rc = 0;

	for (int i = 0; i < 2 * state->test->n && rc >= 0; i++) {
		rc = loop_change(&state->loop, LOOP_ADD, &i, 1);
		if (rc >= 0 && i % 2 == 1)
			rc = loop_change(&state->loop, LOOP_DISABLE, &i, 1);
	}
	return rc < 0 ? rc : looptest_start(state->test);
}

static int loop_state_open(void *setup, const struct bench_way *way, void **opened)
{
	struct loop_state *state = calloc(1, sizeof *state);
	const struct looptest *test = setup;
	struct loop_setup loop_setup;
	int rc;

	if (state == NULL)
		return -ENOMEM;
	state->test = test;
	state->targets = calloc(2 * (size_t)test->n, sizeof *state->targets);
	memset(&loop_setup, 0, sizeof loop_setup);
	loop_setup.targets = state->targets;
	loop_setup.len = 2 * test->n;
	loop_setup.mode = LOOP_LEVEL;
	for (int i = 0; i < test->n && state->targets != NULL; i++) {
		state->targets[2 * i] =
			(struct loop_target){ test->pipes[i].read_fd, POLLIN };
		state->targets[2 * i + 1] =
			(struct loop_target){ test->pipes[i].write_fd, POLLOUT };
	}
	rc = state->targets == NULL
	             ? -ENOMEM
	             : loop_open(&state->loop, way, &loop_setup, LOOPTEST_EVENTS);
	if (rc < 0) {
		free(state->targets);
		free(state);
		return rc;
	}
	rc = loop_state_fill(state);
	if (rc < 0)
		loop_state_close(state);
	else
		*opened = state;
	return rc;
}

/* How many reads this was, or -errno. */
static int loop_state_serve(struct loop_state *state, int id)
{
	struct bench_pair *pipe = &state->test->pipes[id / 2];
	int next = 2 * (int)(looptest_next(state->test, pipe) - state->test->pipes) + 1;
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

static int loop_state_run(void *opened, uint64_t count)
{
	struct loop_state *state = opened;
	uint64_t reads = 0;

	while (reads < count) {
		int ready = loop_wait(&state->loop, NULL, 0, true);

		if (ready < 0)
			return ready;
		for (int i = 0; i < ready; i++) {
			int rc = loop_state_serve(state, state->loop.hand.ready[i].id);

			if (rc < 0)
				return rc;
			reads += (uint64_t)rc;
		}
	}
	return 0;
}

static uint64_t loop_state_syscalls(const void *opened)
{
	return loop_syscalls(&((const struct loop_state *)opened)->loop);
}

const struct bench_ops looptest_loop_ops = {
	.open = loop_state_open,
	.run = loop_state_run,
	.syscalls = loop_state_syscalls,
	.close = loop_state_close,
};
