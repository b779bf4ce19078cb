/*
 * libevent, found at run time: what of its interface is needed is declared here; a
 * loop on it, and its timers.
 */
#include "loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/time.h>

#include "workloads.h"

#define EVLOOP_ONCE     1
#define EVLOOP_NONBLOCK 2
#define EV_READ         2
#define EV_WRITE        4
#define EV_PERSIST      16

static struct libevent {
	void *(*base_new)(void);
	void (*base_free)(void *base);
	int (*base_loop)(void *base, int flags);
	size_t (*event_size)(void);
	int (*assign)(void *event, void *base, int fd, short events,
	              void (*happened)(int fd, short events, void *argument),
	              void *argument);
	int (*add)(void *event, const struct timeval *timeout);
	int (*del)(void *event);
} libevent;

static const struct bench_symbol libevent_symbols[] = {
	{ "event_base_new", &libevent.base_new },
	{ "event_base_free", &libevent.base_free },
	{ "event_base_loop", &libevent.base_loop },
	{ "event_get_struct_event_size", &libevent.event_size },
	{ "event_assign", &libevent.assign },
	{ "event_add", &libevent.add },
	{ "event_del", &libevent.del },
	{ NULL, NULL },
};

struct bench_library libevent_library = {
	.name = "libevent",
	.file = "libevent_core-2.1.so.7",
	.package = "libevent-core-2.1-7",
	.symbols = libevent_symbols,
};

/* --- The loop -------------------------------------------------------------- */

struct libevent_loop {
	struct loop_called called;
	void *base;
	char *events; /* one for each target, of event_size */
	size_t event_size;
};

static void libevent_happened(int fd, short events, void *argument)
{
	(void)fd;
	loop_report(loop_running->hand, (int)(intptr_t)argument,
	            (short)((events & EV_READ ? POLLIN : 0) |
	                    (events & EV_WRITE ? POLLOUT : 0)));
}

static void libevent_close(void *opened)
{
	struct libevent_loop *loop = opened;

	if (loop->base != NULL)
		libevent.base_free(loop->base);
	free(loop->events);
}

static int libevent_open(void *opened, const struct loop_setup *setup)
{
	struct libevent_loop *loop = opened;

	loop_called_init(&loop->called, &loop_libevent, setup);
	loop->event_size = libevent.event_size();
	loop->events = calloc((size_t)setup->len + 1, loop->event_size);
	loop->base = loop->events == NULL ? NULL : libevent.base_new();
	return loop->base == NULL ? -ENOMEM : 0;
}

static int libevent_change(void *opened, enum loop_change change, const int *ids, int len)
{
	struct libevent_loop *loop = opened;
	short persist = loop->called.dispatch ? 0 : EV_PERSIST;

	for (int i = 0; i < len; i++) {
		const struct loop_target *target = &loop->called.targets[ids[i]];
		void *event = loop->events + (size_t)ids[i] * loop->event_size;
		short events = (short)((target->events & POLLIN ? EV_READ : 0) |
		                       (target->events & POLLOUT ? EV_WRITE : 0));
		int rc = 0;

		if (change == LOOP_ADD)
			rc = libevent.assign(event, loop->base, target->fd,
			                     events | persist, libevent_happened,
			                     (void *)(intptr_t)ids[i]);
		if (rc == 0)
			rc = change == LOOP_ADD || change == LOOP_ENABLE
			             ? libevent.add(event, NULL) : libevent.del(event);
		if (rc < 0)
			return -EIO;
		if (change == LOOP_CLOSE)
			close(target->fd);
	}
	return 0;
}

static int libevent_turn(void *opened, bool block)
{
	int flags = EVLOOP_ONCE | (block ? 0 : EVLOOP_NONBLOCK);

	return libevent.base_loop(((struct libevent_loop *)opened)->base, flags) < 0 ? -EIO : 0;
}

const struct loop_ops loop_libevent = {
	.size = sizeof(struct libevent_loop),
	.uncounted = true,
	.open = libevent_open,
	.change = libevent_change,
	.wait = loop_wait_called,
	.turn = libevent_turn,
	.close = libevent_close,
};

/* --- Timers, whose structures are made beforehand -------------------------- */

struct libevent_timers {
	struct timers_state timers;
	void *base;
};

static void libevent_count(int fd, short events, void *argument)
{
	(void)fd, (void)events;
	((struct timers_state *)argument)->expired++;
}

static void libevent_timers_close(void *opened)
{
	struct libevent_timers *state = opened;

	if (state->base != NULL)
		libevent.base_free(state->base);
	free(state->timers.made);
}

static int libevent_arm(void *opened, bool far)
{
	struct libevent_timers *state = opened;
	int64_t more_ns = far ? TIMERS_FAR_NS : 0;

	for (int i = 0; i < state->timers.test->n; i++) {
		int64_t delay_us = (more_ns + state->timers.test->delays[i]) / 1000;
		struct timeval timeout = {
			.tv_sec = delay_us / 1000000,
			.tv_usec = delay_us % 1000000,
		};

		if (libevent.add(timers_made(&state->timers, (uint32_t)i), &timeout) != 0)
			return -ENOMEM;
	}
	return 0;
}

static int libevent_cancel(void *opened)
{
	struct libevent_timers *state = opened;

	for (int i = 0; i < state->timers.test->n; i++)
		(void)libevent.del(timers_made(&state->timers, state->timers.test->order[i]));
	return 0;
}

static int libevent_take(void *opened)
{
	bench_calls++; /* it looks at its descriptors, too */
	(void)libevent.base_loop(((struct libevent_timers *)opened)->base, EVLOOP_NONBLOCK);
	return 0;
}

static const struct timers_steps libevent_steps = {
	libevent_arm, libevent_cancel, libevent_take, NULL
};

static int libevent_timers_open(void *opened, void *setup, const struct bench_way *way)
{
	struct libevent_timers *state = opened;
	int rc = timers_begin(&state->timers, setup, &libevent_steps, libevent.event_size());

	(void)way;
	state->base = libevent.base_new();
	if (rc < 0 || state->base == NULL)
		return -ENOMEM;
	for (int i = 0; i < state->timers.test->n; i++)
		(void)libevent.assign(timers_made(&state->timers, (uint32_t)i), state->base, -1,
		                      0, libevent_count, state);
	return 0;
}

const struct bench_ops timers_libevent_ops = {
	.size = sizeof(struct libevent_timers),
	.open = libevent_timers_open,
	.pass = timers_pass,
	.close = libevent_timers_close,
};
