/*
 * A loop on libevent, which is looked up at run time; the parts of its interface that are needed
 * are declared here.
 */
#include "loop.h"

#include <stdlib.h>
#include <sys/time.h>

#define EVLOOP_ONCE     1
#define EVLOOP_NONBLOCK 2
#define EV_READ         2
#define EV_WRITE        4
#define EV_PERSIST      16

static struct {
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

static struct bench_library libevent_library = {
	"libevent", "libevent_core-2.1.so.7", "libevent-core-2.1-7",
	(const char *const[]){ "event_base_new", "event_base_free", "event_base_loop",
		"event_get_struct_event_size", "event_assign", "event_add", "event_del", NULL },
	&libevent, NULL,
};

struct libevent_loop {
	struct loop_called called;
	void *base;
	/*
	 * event structures: one for each target, or with LOOP_SWITCHES one for each direction of it
	 */
	char *events;
	size_t event_size;
	int each; /* number of events of each target: 1 or 2 */
};

static void libevent_happened(int fd, short events, void *argument)
{
	(void)fd;
	loop_report(loop_running->hand, (int)(intptr_t)argument,
	            (short)((events & EV_READ ? POLLIN : 0) |
	                    (events & EV_WRITE ? POLLOUT : 0)));
}

static void libevent_expired(int fd, short events, void *argument)
{
	(void)fd, (void)events, (void)argument;
	loop_running->hand->len++;
}

static void libevent_close(void *opened)
{
	struct libevent_loop *loop = opened;

	if (loop->base != NULL)
		libevent.base_free(loop->base);
	free(loop->events);
}

static int libevent_open(void *opened, const struct bench_field *field,
                         const struct bench_way *way)
{
	struct libevent_loop *loop = opened;

	loop_called_init(&loop->called, field, way);
	loop->event_size = libevent.event_size();
	loop->each = way->workload->loops & LOOP_SWITCHES ? 2 : 1;
	loop->events = calloc((size_t)(field->len * loop->each) + 1, loop->event_size);
	loop->base = loop->events == NULL ? NULL : libevent.base_new();
	if (loop->base == NULL)
		return -ENOMEM;
	for (int i = 0; i < field->len && way->workload->loops & LOOP_TIMERS; i++)
		(void)libevent.assign(loop->events + (size_t)i * loop->event_size, loop->base, -1,
		                      0, libevent_expired, NULL);
	return 0;
}

static int libevent_assign(struct libevent_loop *loop, void *event, int id, short events)
{
	short persist = loop->called.dispatch ? 0 : EV_PERSIST;

	return libevent.assign(event, loop->base, loop->called.targets[id].fd,
	                       (short)((events & POLLIN ? EV_READ : 0) |
	                               (events & POLLOUT ? EV_WRITE : 0) | persist),
	                       libevent_happened, (void *)(intptr_t)id);
}

/* With LOOP_SWITCHES: apply a change to one direction of a target. */
static int libevent_watch(struct libevent_loop *loop, enum loop_change change, int id,
                          short event)
{
	const struct loop_target *target = &loop->called.targets[id];
	void *record = loop->events + (size_t)(2 * id + (event == POLLOUT)) * loop->event_size;
	bool on = (target->events & event) != 0;
	int rc = change == LOOP_ADD ? libevent_assign(loop, record, id, event) : 0;

	if (rc != 0 || on == (change != LOOP_ADD && (target->before & event) != 0))
		return rc;
	return on ? libevent.add(record, NULL) : libevent.del(record);
}

static int libevent_change_one(struct libevent_loop *loop, enum loop_change change, int id)
{
	const struct loop_target *target = &loop->called.targets[id];
	void *event = loop->events + (size_t)id * loop->event_size;
	int rc;

	if (loop->each > 1) {
		rc = libevent_watch(loop, change, id, POLLIN);
		return rc == 0 ? libevent_watch(loop, change, id, POLLOUT) : rc;
	}
	rc = change == LOOP_ADD ? libevent_assign(loop, event, id, target->events) : 0;
	if (rc == 0)
		rc = change == LOOP_ADD || change == LOOP_ENABLE ? libevent.add(event, NULL)
		                                                 : libevent.del(event);
	if (change == LOOP_CLOSE)
		close(target->fd);
	return rc;
}

static int libevent_change(void *opened, enum loop_change change, const int *ids, int len)
{
	int rc = 0;

	for (int i = 0; i < len && rc == 0; i++)
		rc = libevent_change_one(opened, change, ids[i]);
	return rc == 0 ? 0 : -EIO;
}

static int libevent_turn(void *opened, bool block)
{
	int flags = EVLOOP_ONCE | (block ? 0 : EVLOOP_NONBLOCK);

	return libevent.base_loop(((struct libevent_loop *)opened)->base, flags) < 0 ? -EIO : 0;
}

static int libevent_timers(void *opened, const uint32_t *ids, const int64_t *ns, int len)
{
	struct libevent_loop *loop = opened;
	int rc = 0;

	for (int i = 0; i < len && rc == 0; i++) {
		void *event = loop->events + ids[i] * loop->event_size;
		struct timeval timeout = { 0, 0 };

		if (ns != NULL) {
			timeout.tv_sec = ns[i] / 1000000000;
			timeout.tv_usec = ns[i] / 1000 % 1000000;
		}
		rc = ns != NULL ? libevent.add(event, &timeout) : libevent.del(event);
	}
	return rc == 0 ? 0 : -ENOMEM;
}

const struct loop_ops loop_libevent = {
	.name = "libevent",
	.can = LOOP_LEVEL | LOOP_DISPATCH | LOOP_CLOSES | LOOP_SWITCHES | LOOP_TIMERS,
	.library = &libevent_library,
	.size = sizeof(struct libevent_loop),
	.uncounted = true,
	.open = libevent_open,
	.change = libevent_change,
	.wait = loop_wait_called,
	.turn = libevent_turn,
	.timers = libevent_timers,
	.close = libevent_close,
};
