/*
 * A loop on libev, which is looked up at run time; the parts of its interface that are needed are
 * declared here.
 */
#include "loop.h"

#include <stdlib.h>

#define EV_READ      1
#define EV_WRITE     2
#define EV_IO_SET    0x80 /* a flag that ev_io_set adds to the events */
#define EVRUN_NOWAIT 1
#define EVRUN_ONCE   2

/* The members that programs set or read, as in ev.h of version 4. */
struct libev_watcher {
	int active;
	int pending;
	int priority;
	void *data;
	void (*happened)(void *base, struct libev_watcher *watcher, int events);
	union {
		struct {
			struct libev_watcher *next;
			int fd;
			int events;
		} io;
		struct {
			double at;
			double repeat;
		} timer;
	} is;
};

static struct {
	void *(*loop_new)(unsigned flags);
	void (*loop_destroy)(void *base);
	int (*run)(void *base, int flags);
	void (*now_update)(void *base);
	void (*io_start)(void *base, struct libev_watcher *watcher);
	void (*io_stop)(void *base, struct libev_watcher *watcher);
	void (*timer_again)(void *base, struct libev_watcher *watcher);
	void (*timer_stop)(void *base, struct libev_watcher *watcher);
} libev;

static struct bench_library libev_library = {
	"libev", "libev.so.4", "libev4",
	(const char *const[]){ "ev_loop_new", "ev_loop_destroy", "ev_run", "ev_now_update",
		"ev_io_start", "ev_io_stop", "ev_timer_again", "ev_timer_stop", NULL },
	&libev, NULL,
};

struct libev_loop {
	struct loop_called called;
	void *base;
	struct libev_watcher *watchers; /* one for each target */
};

static void libev_happened(void *base, struct libev_watcher *watcher, int events)
{
	loop_report(loop_running->hand, (int)(intptr_t)watcher->data,
	            (short)((events & EV_READ ? POLLIN : 0) |
	                    (events & EV_WRITE ? POLLOUT : 0)));
	if (loop_running->dispatch)
		libev.io_stop(base, watcher);
}

/* Callback of a timer that has expired.  The timer does not repeat, so libev has stopped it. */
static void libev_expired(void *base, struct libev_watcher *watcher, int events)
{
	(void)events;
	libev.timer_stop(base, watcher);
	loop_running->hand->len++;
}

static void libev_close(void *opened)
{
	struct libev_loop *loop = opened;

	if (loop->base != NULL)
		libev.loop_destroy(loop->base);
	free(loop->watchers);
}

static int libev_open(void *opened, const struct bench_field *field,
                      const struct bench_way *way)
{
	struct libev_loop *loop = opened;
	bool timers = (way->workload->loops & LOOP_TIMERS) != 0;

	loop_called_init(&loop->called, field, way);
	loop->watchers = calloc((size_t)field->len + 1, sizeof *loop->watchers);
	loop->base = loop->watchers == NULL ? NULL : libev.loop_new(0);
	if (loop->base == NULL)
		return -ENOMEM;
	for (int i = 0; i < field->len; i++) {
		loop->watchers[i].happened = timers ? libev_expired : libev_happened;
		loop->watchers[i].data = (void *)(intptr_t)i;
	}
	return 0;
}

/* Start the watcher of a target for the requested events, which may be none. */
static void libev_start(struct libev_loop *loop, int id)
{
	const struct loop_target *target = &loop->called.targets[id];
	struct libev_watcher *watcher = &loop->watchers[id];

	libev.io_stop(loop->base, watcher);
	watcher->is.io.fd = target->fd;
	watcher->is.io.events = (target->events & POLLIN ? EV_READ : 0) |
	                        (target->events & POLLOUT ? EV_WRITE : 0) | EV_IO_SET;
	if (target->events != 0)
		libev.io_start(loop->base, watcher);
}

static int libev_change(void *opened, enum loop_change change, const int *ids, int len)
{
	struct libev_loop *loop = opened;

	for (int i = 0; i < len; i++) {
		if (change == LOOP_ADD || change == LOOP_ENABLE || change == LOOP_WATCH)
			libev_start(loop, ids[i]);
		else
			libev.io_stop(loop->base, &loop->watchers[ids[i]]);
		if (change == LOOP_CLOSE)
			close(loop->called.targets[ids[i]].fd);
	}
	return 0;
}

static int libev_turn(void *opened, bool block)
{
	(void)libev.run(((struct libev_loop *)opened)->base, block ? EVRUN_ONCE : EVRUN_NOWAIT);
	return 0;
}

static int libev_timers(void *opened, const uint32_t *ids, const int64_t *ns, int len)
{
	struct libev_loop *loop = opened;

	if (ns != NULL)
		libev.now_update(loop->base);
	for (int i = 0; i < len; i++) {
		struct libev_watcher *timer = &loop->watchers[ids[i]];

		timer->is.timer.repeat = ns != NULL ? (double)ns[i] / 1e9 + 1e-9 : 0;
		if (ns != NULL)
			libev.timer_again(loop->base, timer);
		else
			libev.timer_stop(loop->base, timer);
	}
	return 0;
}

const struct loop_ops loop_libev = {
	.name = "libev",
	.can = LOOP_LEVEL | LOOP_DISPATCH | LOOP_CLOSES | LOOP_SWITCHES | LOOP_TIMERS,
	.library = &libev_library,
	.size = sizeof(struct libev_loop),
	.uncounted = true,
	.open = libev_open,
	.change = libev_change,
	.wait = loop_wait_called,
	.turn = libev_turn,
	.timers = libev_timers,
	.close = libev_close,
};
