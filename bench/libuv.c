/*
 * libuv, found at run time: what of its interface is needed is declared here; a
 * loop on it, and its timers.
 */
#include "loop.h"

#include <errno.h>
#include <stdlib.h>

#include "workloads.h"

#define UV_ASYNC      1 /* of uv_handle_type */
#define UV_POLL       8
#define UV_TIMER      13
#define UV_RUN_ONCE   1 /* of uv_run_mode */
#define UV_RUN_NOWAIT 2
#define UV_READABLE   1 /* of uv_poll_event */
#define UV_WRITABLE   2

static struct libuv {
	int (*loop_init)(void *loop);
	int (*loop_close)(void *loop);
	size_t (*loop_size)(void);
	size_t (*handle_size)(int type);
	int (*poll_init)(void *loop, void *handle, int fd);
	int (*poll_start)(void *handle, int events,
	                  void (*happened)(void *handle, int status, int events));
	int (*poll_stop)(void *handle);
	int (*timer_init)(void *loop, void *timer);
	int (*timer_start)(void *timer, void (*expired)(void *timer),
	                   uint64_t timeout_ms, uint64_t repeat_ms);
	int (*timer_stop)(void *timer);
	int (*async_init)(void *loop, void *handle, void (*happened)(void *handle));
	int (*async_send)(void *handle);
	void (*set_data)(void *handle, void *data);
	void *(*get_data)(const void *handle);
	void (*close)(void *handle, void (*closed)(void *handle));
	void (*update_time)(void *loop);
	int (*run)(void *loop, int mode);
} libuv;

static const struct bench_symbol libuv_symbols[] = {
	{ "uv_loop_init", &libuv.loop_init },
	{ "uv_loop_close", &libuv.loop_close },
	{ "uv_loop_size", &libuv.loop_size },
	{ "uv_handle_size", &libuv.handle_size },
	{ "uv_poll_init", &libuv.poll_init },
	{ "uv_poll_start", &libuv.poll_start },
	{ "uv_poll_stop", &libuv.poll_stop },
	{ "uv_timer_init", &libuv.timer_init },
	{ "uv_timer_start", &libuv.timer_start },
	{ "uv_timer_stop", &libuv.timer_stop },
	{ "uv_async_init", &libuv.async_init },
	{ "uv_async_send", &libuv.async_send },
	{ "uv_handle_set_data", &libuv.set_data },
	{ "uv_handle_get_data", &libuv.get_data },
	{ "uv_close", &libuv.close },
	{ "uv_update_time", &libuv.update_time },
	{ "uv_run", &libuv.run },
	{ NULL, NULL },
};

struct bench_library libuv_library = {
	.name = "libuv",
	.file = "libuv.so.1",
	.package = "libuv1",
	.symbols = libuv_symbols,
};

/* --- The loop -------------------------------------------------------------- */

/* A handle is made when its descriptor is added; it is given back a while after it was closed. */
struct libuv_loop {
	struct loop_called called;
	int targets_len;
	void *loop;
	void **handles; /* NULL: it was not added */
	void *wake;
	bool ready; /* to be closed */
};

static void libuv_happened(void *handle, int status, int events)
{
	short revents = (short)((events & UV_READABLE ? POLLIN : 0) |
	                        (events & UV_WRITABLE ? POLLOUT : 0));

	if (status < 0)
		revents = POLLERR;
	loop_report(loop_running->hand, (int)(intptr_t)libuv.get_data(handle), revents);
	if (loop_running->dispatch)
		(void)libuv.poll_stop(handle);
}

static void libuv_woken(void *handle)
{
	(void)handle;
	loop_report(loop_running->hand, LOOP_WOKEN, POLLIN);
}

static void libuv_end_handle(void *handle)
{
	if (handle != NULL)
		libuv.close(handle, free);
}

static void libuv_close(void *opened)
{
	struct libuv_loop *loop = opened;

	for (int i = 0; i < loop->targets_len && loop->ready; i++)
		libuv_end_handle(loop->handles[i]);
	if (loop->ready) {
		libuv_end_handle(loop->wake);
		(void)libuv.run(loop->loop, UV_RUN_NOWAIT); /* frees them */
		(void)libuv.loop_close(loop->loop);
	}
	free(loop->loop);
	free(loop->handles);
}

static int libuv_open_wake(struct libuv_loop *loop)
{
	loop->wake = calloc(1, libuv.handle_size(UV_ASYNC));
	if (loop->wake == NULL)
		return -ENOMEM;
	return libuv.async_init(loop->loop, loop->wake, libuv_woken);
}

static int libuv_open(void *opened, const struct loop_setup *setup)
{
	struct libuv_loop *loop = opened;

	loop_called_init(&loop->called, &loop_libuv, setup);
	loop->targets_len = setup->len;
	loop->loop = calloc(1, libuv.loop_size());
	loop->handles = calloc((size_t)setup->len + 1, sizeof *loop->handles);
	if (loop->loop == NULL || loop->handles == NULL || libuv.loop_init(loop->loop) < 0)
		return -ENOMEM;
	loop->ready = true;
	return setup->wakes ? libuv_open_wake(loop) : 0;
}

static int libuv_make(struct libuv_loop *loop, int id)
{
	void *handle = calloc(1, libuv.handle_size(UV_POLL));

	if (handle == NULL)
		return -ENOMEM;
	if (libuv.poll_init(loop->loop, handle, loop->called.targets[id].fd) < 0) {
		free(handle);
		return -EIO;
	}
	libuv.set_data(handle, (void *)(intptr_t)id);
	loop->handles[id] = handle;
	return 0;
}

static int libuv_start(struct libuv_loop *loop, int id)
{
	short wanted = loop->called.targets[id].events;
	int events = (wanted & POLLIN ? UV_READABLE : 0) |
	             (wanted & POLLOUT ? UV_WRITABLE : 0);
	int rc = loop->handles[id] == NULL ? libuv_make(loop, id) : 0;

	return rc < 0 ? rc : libuv.poll_start(loop->handles[id], events, libuv_happened);
}

static int libuv_change(void *opened, enum loop_change change, const int *ids, int len)
{
	struct libuv_loop *loop = opened;
	int rc = 0;

	for (int i = 0; i < len && rc >= 0; i++) {
		void **handle = &loop->handles[ids[i]];

		if (change == LOOP_ADD || change == LOOP_ENABLE || change == LOOP_SWITCH)
			rc = libuv_start(loop, ids[i]);
		else
			rc = libuv.poll_stop(*handle);
		if (change == LOOP_CLOSE) {
			libuv.close(*handle, free);
			*handle = NULL;
			close(loop->called.targets[ids[i]].fd);
		}
	}
	return rc;
}

static int libuv_turn(void *opened, bool block)
{
	(void)libuv.run(((struct libuv_loop *)opened)->loop, block ? UV_RUN_ONCE : UV_RUN_NOWAIT);
	return 0;
}

static int libuv_wake(void *opened)
{
	return libuv.async_send(((struct libuv_loop *)opened)->wake);
}

const struct loop_ops loop_libuv = {
	.size = sizeof(struct libuv_loop),
	.uncounted = true,
	.open = libuv_open,
	.change = libuv_change,
	.wait = loop_wait_called,
	.turn = libuv_turn,
	.wake = libuv_wake,
	.close = libuv_close,
};

/* --- Timers, whose handles are made beforehand ----------------------------- */

struct libuv_timers {
	struct timers_state timers;
	void *loop;
	bool ready; /* to be closed */
};

static struct timers_state *libuv_counting; /* a callback gets the handle alone */

static void libuv_count(void *timer)
{
	(void)timer;
	libuv_counting->expired++;
}

static void libuv_timers_close(void *opened)
{
	struct libuv_timers *state = opened;

	for (int i = 0; i < state->timers.test->n && state->ready; i++)
		libuv.close(timers_made(&state->timers, (uint32_t)i), NULL);
	if (state->ready) {
		(void)libuv.run(state->loop, UV_RUN_NOWAIT); /* closes them */
		(void)libuv.loop_close(state->loop);
	}
	free(state->timers.made);
	free(state->loop);
}

static int libuv_arm(void *opened, bool far)
{
	struct libuv_timers *state = opened;
	int64_t more_ns = far ? TIMERS_FAR_NS : 0;

	libuv.update_time(state->loop);
	for (int i = 0; i < state->timers.test->n; i++) {
		int64_t delay_ns = more_ns + state->timers.test->delays[i];

		if (libuv.timer_start(timers_made(&state->timers, (uint32_t)i), libuv_count,
		                   (uint64_t)delay_ns / 1000000, 0) != 0)
			return -ENOMEM;
	}
	return 0;
}

static int libuv_cancel(void *opened)
{
	struct libuv_timers *state = opened;

	for (int i = 0; i < state->timers.test->n; i++)
		(void)libuv.timer_stop(timers_made(&state->timers, state->timers.test->order[i]));
	return 0;
}

static int libuv_take(void *opened)
{
	bench_calls++; /* it looks at its descriptors, too */
	(void)libuv.run(((struct libuv_timers *)opened)->loop, UV_RUN_NOWAIT);
	return 0;
}

static const struct timers_steps libuv_steps = {
	libuv_arm, libuv_cancel, libuv_take, NULL
};

static int libuv_timers_open(void *opened, void *setup, const struct bench_way *way)
{
	struct libuv_timers *state = opened;
	size_t size = libuv.handle_size(UV_TIMER);
	int rc = timers_begin(&state->timers, setup, &libuv_steps, size);

	(void)way;
	state->loop = calloc(1, libuv.loop_size());
	if (rc < 0 || state->loop == NULL || libuv.loop_init(state->loop) != 0)
		return -ENOMEM;
	state->ready = true;
	libuv_counting = &state->timers;
	for (int i = 0; i < state->timers.test->n; i++)
		(void)libuv.timer_init(state->loop, timers_made(&state->timers, (uint32_t)i));
	return 0;
}

const struct bench_ops timers_libuv_ops = {
	.size = sizeof(struct libuv_timers),
	.open = libuv_timers_open,
	.pass = timers_pass,
	.close = libuv_timers_close,
};
