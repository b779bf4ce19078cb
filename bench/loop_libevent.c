/*
 * A loop on libevent.
 */
#include "loop.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "libevent.h"

struct libevent_loop {
	const struct loop_target *targets;
	void *base;
	char *events; /* one for each target, of event_size */
	size_t event_size;
	struct loop_hand *hand;
	int len;
	short persist;
};

static struct libevent_loop *libevent_running; /* its callback gets one argument */

static void libevent_happened(int fd, short events, void *argument)
{
	struct libevent_loop *loop = libevent_running;

	(void)fd;
	loop_report(loop->hand, &loop->len, (int)(intptr_t)argument,
	            (short)((events & EV_READ ? POLLIN : 0) |
	                    (events & EV_WRITE ? POLLOUT : 0)));
}

static void libevent_close(void *opened)
{
	struct libevent_loop *loop = opened;

	if (loop->base != NULL)
		libevent.base_free(loop->base);
	free(loop->events);
	free(loop);
}

static int libevent_open(const struct loop_setup *setup, void **opened)
{
	struct libevent_loop *loop = calloc(1, sizeof *loop);

	if (loop == NULL)
		return -ENOMEM;
	loop->targets = setup->targets;
	loop->persist = setup->mode == LOOP_DISPATCH ? 0 : EV_PERSIST;
	loop->event_size = libevent.event_size();
	loop->events = calloc((size_t)setup->len + 1, loop->event_size);
	loop->base = loop->events == NULL ? NULL : libevent.base_new();
	if (loop->base == NULL) {
		libevent_close(loop);
		return -ENOMEM;
	}
	*opened = loop;
	return 0;
}

static int libevent_change(void *opened, enum loop_change change, const int *ids, int len)
{
	struct libevent_loop *loop = opened;

	for (int i = 0; i < len; i++) {
		const struct loop_target *target = &loop->targets[ids[i]];
		void *event = loop->events + (size_t)ids[i] * loop->event_size;
		short events = (short)((target->events & POLLIN ? EV_READ : 0) |
		                       (target->events & POLLOUT ? EV_WRITE : 0));
		int rc = 0;

		if (change == LOOP_ADD)
			rc = libevent.assign(event, loop->base, target->fd,
			                     events | loop->persist, libevent_happened,
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

static int libevent_wait(void *opened, struct loop_hand *hand, const int *enable,
                         int enable_len, bool block)
{
	struct libevent_loop *loop = opened;
	int rc = libevent_change(loop, LOOP_ENABLE, enable, enable_len);

	if (rc < 0)
		return rc;
	loop->hand = hand;
	loop->len = 0;
	libevent_running = loop;
	if (libevent.base_loop(loop->base,
	                       EVLOOP_ONCE | (block ? 0 : EVLOOP_NONBLOCK)) < 0)
		return -EIO;
	return loop->len > 0 || bench_goes_on(EINTR) ? loop->len : -EINTR;
}

static uint64_t libevent_syscalls(void *opened)
{
	(void)opened;
	return BENCH_UNKNOWN;
}

const struct loop_ops loop_libevent = {
	.open = libevent_open,
	.change = libevent_change,
	.wait = libevent_wait,
	.syscalls = libevent_syscalls,
	.close = libevent_close,
};
