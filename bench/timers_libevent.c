/*
 * timers on libevent.  The structures are made beforehand.
 */
#include <errno.h>
#include <stdlib.h>

#include "libevent.h"
#include "timers.h"

struct libevent_state {
	const struct timers *test;
	void *base;
	char *events;
	size_t event_size;
	uint64_t memory_before;
	uint64_t syscalls;
	int expired;
};

static void libevent_count(int fd, short events, void *argument)
{
	struct libevent_state *state = argument;

	(void)fd, (void)events;
	state->expired++;
}

static void *libevent_timer(const struct libevent_state *state, uint32_t index)
{
	return state->events + index * state->event_size;
}

static void libevent_close(void *opened)
{
	struct libevent_state *state = opened;

	if (state->base != NULL)
		libevent.base_free(state->base);
	free(state->events);
	free(state);
}

static int libevent_open(void *setup, const struct bench_way *way, void **opened)
{
	uint64_t memory_before = bench_memory_used();
	struct libevent_state *state = calloc(1, sizeof *state);

	(void)way;
	if (state == NULL)
		return -ENOMEM;
	state->test = setup;
	state->memory_before = memory_before;
	state->event_size = libevent.event_size();
	state->base = libevent.base_new();
	state->events = calloc((size_t)state->test->n, state->event_size);
	if (state->base == NULL || state->events == NULL) {
		libevent_close(state);
		return -ENOMEM;
	}
	for (int i = 0; i < state->test->n; i++)
		(void)libevent.assign(libevent_timer(state, (uint32_t)i), state->base, -1,
		                      0, libevent_count, state);
	*opened = state;
	return 0;
}

static int libevent_arm(void *opened, bool far)
{
	struct libevent_state *state = opened;
	int64_t more_ns = far ? TIMERS_FAR_NS : 0;

	for (int i = 0; i < state->test->n; i++) {
		int64_t delay_us = (more_ns + state->test->delays[i]) / 1000;
		struct timeval timeout = {
			.tv_sec = delay_us / 1000000,
			.tv_usec = delay_us % 1000000,
		};

		if (libevent.add(libevent_timer(state, (uint32_t)i), &timeout) != 0)
			return -ENOMEM;
	}
	return 0;
}

static int libevent_cancel(void *opened)
{
	struct libevent_state *state = opened;

	for (int i = 0; i < state->test->n; i++)
		(void)libevent.del(libevent_timer(state, state->test->order[i]));
	return 0;
}

static int libevent_take(void *opened)
{
	struct libevent_state *state = opened;

	state->expired = 0;
	while (state->expired < state->test->n) {
		(void)libevent.base_loop(state->base, EVLOOP_NONBLOCK);
		state->syscalls++; /* it looks at its descriptors, too */
		if (bench_interrupted() != 0)
			return -EINTR;
	}
	return 0;
}

static uint64_t libevent_syscalls(const void *opened)
{
	return ((const struct libevent_state *)opened)->syscalls;
}

static const struct timers_steps libevent_steps = {
	.arm = libevent_arm,
	.cancel = libevent_cancel,
	.take = libevent_take,
	.syscalls = libevent_syscalls,
};

static int libevent_pass(void *opened, struct bench_sample *samples)
{
	struct libevent_state *state = opened;

	return timers_pass(state->test, &libevent_steps, state, state->memory_before,
	                   samples);
}

const struct bench_ops timers_libevent_ops = {
	.open = libevent_open,
	.pass = libevent_pass,
	.close = libevent_close,
};
