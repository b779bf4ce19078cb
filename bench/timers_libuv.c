/*
 * timers on libuv, found at run time: what of its interface is needed is
 * declared here.  The handles are made beforehand.
 */
#include <errno.h>
#include <stdlib.h>

#include "timers.h"

#define UV_TIMER      13 /* of uv_handle_type */
#define UV_RUN_NOWAIT 2  /* of uv_run_mode */

static struct {
	int (*loop_init)(void *loop);
	int (*loop_close)(void *loop);
	size_t (*loop_size)(void);
	size_t (*handle_size)(int type);
	int (*timer_init)(void *loop, void *timer);
	int (*timer_start)(void *timer, void (*expired)(void *timer),
	                   uint64_t timeout_ms, uint64_t repeat_ms);
	int (*timer_stop)(void *timer);
	void (*close)(void *handle, void (*closed)(void *handle));
	void (*update_time)(void *loop);
	int (*run)(void *loop, int mode);
} uv;

static const struct bench_symbol libuv_symbols[] = {
	{ "uv_loop_init", &uv.loop_init },
	{ "uv_loop_close", &uv.loop_close },
	{ "uv_loop_size", &uv.loop_size },
	{ "uv_handle_size", &uv.handle_size },
	{ "uv_timer_init", &uv.timer_init },
	{ "uv_timer_start", &uv.timer_start },
	{ "uv_timer_stop", &uv.timer_stop },
	{ "uv_close", &uv.close },
	{ "uv_update_time", &uv.update_time },
	{ "uv_run", &uv.run },
	{ NULL, NULL },
};

struct bench_library timers_libuv = {
	.name = "libuv",
	.file = "libuv.so.1",
	.package = "libuv1-dev",
	.symbols = libuv_symbols,
};

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
		uv.close(libuv_timer(state, (uint32_t)i), NULL);
	(void)uv.run(state->loop, UV_RUN_NOWAIT); /* closes them */
	(void)uv.loop_close(state->loop);
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
	state->handle_size = uv.handle_size(UV_TIMER);
	state->loop = calloc(1, uv.loop_size());
	state->handles = calloc((size_t)state->test->n, state->handle_size);
	if (state->loop == NULL || state->handles == NULL ||
	    uv.loop_init(state->loop) != 0) {
		libuv_free(state);
		return -ENOMEM;
	}
	for (int i = 0; i < state->test->n; i++)
		(void)uv.timer_init(state->loop, libuv_timer(state, (uint32_t)i));
	*opened = state;
	return 0;
}

static int libuv_arm(void *opened, bool far)
{
	struct uv_state *state = opened;
	int64_t more_ns = far ? TIMERS_FAR_NS : 0;

	uv.update_time(state->loop);
	for (int i = 0; i < state->test->n; i++) {
		int64_t delay_ns = more_ns + state->test->delays[i];

		if (uv.timer_start(libuv_timer(state, (uint32_t)i), libuv_count,
		                   (uint64_t)delay_ns / 1000000, 0) != 0)
			return -ENOMEM;
	}
	return 0;
}

static int libuv_cancel(void *opened)
{
	struct uv_state *state = opened;

	for (int i = 0; i < state->test->n; i++)
		(void)uv.timer_stop(libuv_timer(state, state->test->order[i]));
	return 0;
}

static int libuv_take(void *opened)
{
	struct uv_state *state = opened;

	libuv_expired = 0;
	while (libuv_expired < state->test->n) {
		(void)uv.run(state->loop, UV_RUN_NOWAIT);
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
