/*
 * A loop on libuv.  A handle is made when its descriptor is added; the library
 * gives it back a while after it was closed.
 */
#include "loop.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "libuv.h"

struct libuv_loop {
	const struct loop_target *targets;
	int targets_len;
	void *loop;
	void **handles; /* NULL: it was not added */
	void *wake;
	struct loop_hand *hand;
	int len;
	bool dispatch;
};

/* A callback gets the handle alone; this is whose it is. */
static _Thread_local struct libuv_loop *libuv_running;

static void libuv_happened(void *handle, int status, int events)
{
	struct libuv_loop *loop = libuv_running;
	short revents = (short)((events & UV_READABLE ? POLLIN : 0) |
	                        (events & UV_WRITABLE ? POLLOUT : 0));

	if (status < 0)
		revents = POLLERR;
	loop_report(loop->hand, &loop->len, (int)(intptr_t)libuv.get_data(handle), revents);
	if (loop->dispatch)
		(void)libuv.poll_stop(handle);
}

static void libuv_woken(void *handle)
{
	(void)handle;
	loop_report(libuv_running->hand, &libuv_running->len, LOOP_WOKEN, POLLIN);
}

static void libuv_end_handle(void *handle)
{
	if (handle != NULL)
		libuv.close(handle, free);
}

static void libuv_close(void *opened)
{
	struct libuv_loop *loop = opened;

	for (int i = 0; i < loop->targets_len; i++)
		libuv_end_handle(loop->handles[i]);
	libuv_end_handle(loop->wake);
	(void)libuv.run(loop->loop, UV_RUN_NOWAIT); /* frees them */
	(void)libuv.loop_close(loop->loop);
	free(loop->loop);
	free(loop->handles);
	free(loop);
}

static int libuv_open_wake(struct libuv_loop *loop)
{
	loop->wake = calloc(1, libuv.handle_size(UV_ASYNC));
	if (loop->wake == NULL)
		return -ENOMEM;
	return libuv.async_init(loop->loop, loop->wake, libuv_woken);
}

static int libuv_open(const struct loop_setup *setup, void **opened)
{
	struct libuv_loop *loop = calloc(1, sizeof *loop);
	int rc = 0;

	if (loop == NULL)
		return -ENOMEM;
	loop->targets = setup->targets;
	loop->targets_len = setup->len;
	loop->dispatch = setup->mode == LOOP_DISPATCH;
	loop->loop = calloc(1, libuv.loop_size());
	loop->handles = calloc((size_t)setup->len + 1, sizeof *loop->handles);
	if (loop->loop == NULL || loop->handles == NULL || libuv.loop_init(loop->loop) < 0) {
		free(loop->loop);
		free(loop->handles);
		free(loop);
		return -ENOMEM;
	}
	if (setup->wakes)
		rc = libuv_open_wake(loop);
	if (rc < 0)
		libuv_close(loop);
	else
		*opened = loop;
	return rc;
}

static int libuv_make(struct libuv_loop *loop, int id)
{
	void *handle = calloc(1, libuv.handle_size(UV_POLL));

	if (handle == NULL)
		return -ENOMEM;
	if (libuv.poll_init(loop->loop, handle, loop->targets[id].fd) < 0) {
		free(handle);
		return -EIO;
	}
	libuv.set_data(handle, (void *)(intptr_t)id);
	loop->handles[id] = handle;
	return 0;
}

static int libuv_start(struct libuv_loop *loop, int id)
{
	short wanted = loop->targets[id].events;
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

		if (change == LOOP_ADD || change == LOOP_ENABLE)
			rc = libuv_start(loop, ids[i]);
		else
			rc = libuv.poll_stop(*handle);
		if (change == LOOP_CLOSE) {
			libuv.close(*handle, free);
			*handle = NULL;
			close(loop->targets[ids[i]].fd);
		}
	}
	return rc;
}

static int libuv_wait(void *opened, struct loop_hand *hand, const int *enable,
                      int enable_len, bool block)
{
	struct libuv_loop *loop = opened;
	int rc = libuv_change(loop, LOOP_ENABLE, enable, enable_len);

	if (rc < 0)
		return rc;
	loop->hand = hand;
	loop->len = 0;
	libuv_running = loop;
	(void)libuv.run(loop->loop, block ? UV_RUN_ONCE : UV_RUN_NOWAIT);
	return loop->len > 0 || bench_goes_on(EINTR) ? loop->len : -EINTR;
}

static int libuv_wake(void *opened)
{
	return libuv.async_send(((struct libuv_loop *)opened)->wake);
}

static uint64_t libuv_syscalls(void *opened)
{
	(void)opened;
	return BENCH_UNKNOWN;
}

const struct loop_ops loop_libuv = {
	.open = libuv_open,
	.change = libuv_change,
	.wait = libuv_wait,
	.wake = libuv_wake,
	.syscalls = libuv_syscalls,
	.close = libuv_close,
};
