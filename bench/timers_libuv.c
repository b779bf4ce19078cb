/*
 * timers on libuv.  The handles are made beforehand.
 */
#include <errno.h>
#include <stdlib.h>

#include "libuv.h"
#include "timers.h"

struct uv_state {
	const struct timers *test;
	void *loop;
	char *handles;
	size_t handle_size;
	uint64_t memory_before;
	uint64_t syscalls;
};

static int libuv_expired; /* libuv gives its callback the handle alone */

static void libuv_count(void *timer)
{
	(void)timer;
	libuv_expired++;
}

static void *libuv_timer(const struct uv_state *state, uint32_t index)
{
	return state->handles + index * state->handle_size;
}

static void libuv_free(struct uv_state *state)
{
	free(state->handles);
	free(state->loop);
	free(state);
}

static void libuv_close(void *opened)
{
	struct uv_state *state = opened;

	for (int i = 0; i < state->test->n; i++)
		libuv.close(libuv_timer(state, (uint32_t)i), NULL);
	(void)libuv.run(state->loop, UV_RUN_NOWAIT); /* closes them */
	(void)libuv.loop_close(state->loop);
	libuv_free(state);
}

static int libuv_open(void *setup, const struct bench_way *way, void **opened)
{
	uint64_t memory_before = bench_memory_used();
	struct uv_state *state = calloc(1, sizeof *state);

	(void)way;
	if (state == NULL)
		return -ENOMEM;
	state->test = setup;
	state->memory_before = memory_before;
	state->handle_size = libuv.handle_size(UV_TIMER);
	state->loop = calloc(1, libuv.loop_size());
	state->handles = calloc((size_t)state->test->n, state->handle_size);
	if (state->loop == NULL || state->handles == NULL ||
	    libuv.loop_init(state->loop) != 0) {
		libuv_free(state);
		return -ENOMEM;
	}
	for (int i = 0; i < state->test->n; i++)
		(void)libuv.timer_init(state->loop, libuv_timer(state, (uint32_t)i));
	*opened = state;
	return 0;
}

static int libuv_arm(void *opened, bool far)
{
	struct uv_state *state = opened;
	int64_t more_ns = far ? TIMERS_FAR_NS : 0;

	libuv.update_time(state->loop);
	for (int i = 0; i < state->test->n; i++) {
		int64_t delay_ns = more_ns + state->test->delays[i];

		if (libuv.timer_start(libuv_timer(state, (uint32_t)i), libuv_count,
		                   (uint64_t)delay_ns / 1000000, 0) != 0)
			return -ENOMEM;
	}
	return 0;
}

static int libuv_cancel(void *opened)
{
	struct uv_state *state = opened;

	for (int i = 0; i < state->test->n; i++)
		(void)libuv.timer_stop(libuv_timer(state, state->test->order[i]));
	return 0;
}

static int libuv_take(void *opened)
{
	struct uv_state *state = opened;

	libuv_expired = 0;
	while (libuv_expired < state->test->n) {
		(void)libuv.run(state->loop, UV_RUN_NOWAIT);
		state->syscalls++; /* it looks at its descriptors, too */
		if (bench_interrupted() != 0)
			return -EINTR;
	}
	return 0;
}

static uint64_t libuv_syscalls(const void *opened)
{
	return ((const struct uv_state *)opened)->syscalls;
}

static const struct timers_steps libuv_steps = {
	.arm = libuv_arm,
	.cancel = libuv_cancel,
	.take = libuv_take,
	.syscalls = libuv_syscalls,
};

static int libuv_pass(void *opened, struct bench_sample *samples)
{
	struct uv_state *state = opened;

	return timers_pass(state->test, &libuv_steps, state, state->memory_before,
	                   samples);
}

const struct bench_ops timers_libuv_ops = {
	.open = libuv_open,
	.pass = libuv_pass,
	.close = libuv_close,
};
