/*
 * libev, found at run time: what of its interface is needed is declared here.
 * Its watchers are structures that a program fills in itself.
 */
#include "loop.h"

#include <stdlib.h>

#define EVRUN_NOWAIT 1
#define EVRUN_ONCE   2
#define EV_READ      1
#define EV_WRITE     2
#define EV_FD_SET    0x80 /* the library calls it EV__IOFDSET */

/* ev_io, ev_async and ev_watcher begin alike. */
struct libev_watcher {
	int active;
	int pending;
	int priority;
	void *data;
	void (*happened)(void *loop, struct libev_watcher *watcher, int events);
	union {
		struct {
			void *next;
			int fd;
			int events;
		} io;
		int sent;
	};
};

static struct {
	void *(*loop_new)(unsigned flags);
	void (*loop_destroy)(void *loop);
	int (*run)(void *loop, int flags);
	void (*io_start)(void *loop, struct libev_watcher *watcher);
	void (*io_stop)(void *loop, struct libev_watcher *watcher);
	void (*async_start)(void *loop, struct libev_watcher *watcher);
	void (*async_send)(void *loop, struct libev_watcher *watcher);
} ev;

struct bench_library libev_library = {
	"libev", "libev.so.4", "libev4",
	(const char *const[]){ "ev_loop_new", "ev_loop_destroy", "ev_run", "ev_io_start",
		"ev_io_stop", "ev_async_start", "ev_async_send", NULL },
	&ev, NULL,
};

struct libev_loop {
	struct loop_called called;
	void *loop;
	struct libev_watcher *watchers;
	struct libev_watcher wake;
};

static void libev_happened(void *ev_loop, struct libev_watcher *watcher, int events)
{
	const struct libev_loop *loop = (struct libev_loop *)loop_running;

	loop_report(loop_running->hand, (int)(watcher - loop->watchers),
	            (short)((events & EV_READ ? POLLIN : 0) |
	                    (events & EV_WRITE ? POLLOUT : 0)));
	if (loop_running->dispatch)
		ev.io_stop(ev_loop, watcher);
}

static void libev_woken(void *ev_loop, struct libev_watcher *watcher, int events)
{
	(void)ev_loop, (void)watcher, (void)events;
	loop_report(loop_running->hand, LOOP_WOKEN, POLLIN);
}

static void libev_close(void *opened)
{
	struct libev_loop *loop = opened;

	if (loop->loop != NULL)
		ev.loop_destroy(loop->loop);
	free(loop->watchers);
}

static int libev_open(void *opened, const struct bench_field *field,
                      const struct bench_way *way)
{
	struct libev_loop *loop = opened;

	loop_called_init(&loop->called, field, way);
	loop->watchers = calloc((size_t)field->len + 1, sizeof *loop->watchers);
	loop->loop = loop->watchers == NULL ? NULL : ev.loop_new(0);
	if (loop->loop == NULL)
		return -ENOMEM;
	loop->wake.happened = libev_woken;
	if (way->workload->loops & LOOP_WAKE)
		ev.async_start(loop->loop, &loop->wake);
	return 0;
}

static void libev_start(struct libev_loop *loop, int id)
{
	const struct loop_target *target = &loop->called.targets[id];
	struct libev_watcher *watcher = &loop->watchers[id];

	watcher->happened = libev_happened;
	watcher->io.fd = target->fd;
	watcher->io.events = (target->events & POLLIN ? EV_READ : 0) |
	                     (target->events & POLLOUT ? EV_WRITE : 0) | EV_FD_SET;
	ev.io_start(loop->loop, watcher);
}

static int libev_change(void *opened, enum loop_change change, const int *ids, int len)
{
	struct libev_loop *loop = opened;

	for (int i = 0; i < len; i++) {
		if (change == LOOP_ADD || change == LOOP_ENABLE)
			libev_start(loop, ids[i]);
		else
			ev.io_stop(loop->loop, &loop->watchers[ids[i]]);
		if (change == LOOP_CLOSE)
			close(loop->called.targets[ids[i]].fd);
	}
	return 0;
}

static int libev_turn(void *opened, bool block)
{
	(void)ev.run(((struct libev_loop *)opened)->loop, block ? EVRUN_ONCE : EVRUN_NOWAIT);
	return 0;
}

static int libev_wake(void *opened)
{
	struct libev_loop *loop = opened;

	ev.async_send(loop->loop, &loop->wake);
	return 0;
}

const struct loop_ops loop_libev = {
	.size = sizeof(struct libev_loop),
	.uncounted = true,
	.open = libev_open,
	.change = libev_change,
	.wait = loop_wait_called,
	.turn = libev_turn,
	.wake = libev_wake,
	.close = libev_close,
};
