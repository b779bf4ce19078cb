/*
 * A loop on kevent(2): that of libxpoll-kqueue.
 *
 * It is written as for a BSD: what is enabled and disabled is collected and goes
 * along with the next wait.  Each event brings a count, which epoll(7) does not.
 */
#include <sys/event.h>

#include "loop.h"

#define CHANGES_MAX 128

struct kevent_loop {
	const struct loop_target *targets;
	int fd;
	int changes_len;
	struct kevent changes[CHANGES_MAX];
};

static void kevent_close(void *opened)
{
	struct kevent_loop *loop = opened;

	if (loop->fd >= 0)
		close(loop->fd);
}

static int kevent_open(void *opened, const struct bench_field *field,
                       const struct bench_way *way)
{
	struct kevent_loop *loop = opened;

	(void)way;
	loop->targets = field->targets;
	loop->fd = kqueue();
	return loop->fd < 0 ? -errno : 0;
}

static int kevent_flush(struct kevent_loop *loop)
{
	int rc = kevent(loop->fd, loop->changes, loop->changes_len, NULL, 0, NULL);

	loop->changes_len = 0;
	return rc < 0 ? -errno : 0;
}

static int kevent_change(void *opened, enum loop_change change, const int *ids, int len)
{
	static const unsigned short flags[] = {
		[LOOP_ADD] = EV_ADD, [LOOP_DELETE] = EV_DELETE,
		[LOOP_DISABLE] = EV_DISABLE, [LOOP_ENABLE] = EV_ENABLE,
	};
	struct kevent_loop *loop = opened;
	int rc = 0;

	for (int i = 0; i < len && rc == 0; i++) {
		const struct loop_target *target = &loop->targets[ids[i]];
		short filter = target->events & POLLIN ? EVFILT_READ : EVFILT_WRITE;

		EV_SET(&loop->changes[loop->changes_len++], target->fd, filter,
		       flags[change], 0, 0, (void *)(intptr_t)ids[i]);
		if (loop->changes_len == CHANGES_MAX || change == LOOP_ADD ||
		    change == LOOP_DELETE)
			rc = kevent_flush(loop);
	}
	return rc;
}

static int kevent_wait(void *opened, struct loop_hand *hand, bool block)
{
	static const struct timespec now = { 0, 0 };
	struct kevent_loop *loop = opened;
	struct kevent *events = hand->records;
	int count = kevent(loop->fd, loop->changes, loop->changes_len, events, hand->cap,
	                   block ? NULL : &now);

	if (count < 0)
		return bench_goes_on(errno) ? 0 : -errno;
	loop->changes_len = 0;
	for (int i = 0; i < count; i++) {
		if (events[i].flags & EV_ERROR)
			return -(int)events[i].data;
		if (events[i].data < 1)
			return -EIO; /* a count that is none */
		hand->ready[i] = (struct loop_ready){
			(int)(intptr_t)events[i].udata,
			events[i].filter == EVFILT_READ ? POLLIN : POLLOUT,
		};
	}
	return count;
}

const struct loop_ops loop_kevent = {
	.name = "kevent",
	.size = sizeof(struct kevent_loop),
	.record_size = sizeof(struct kevent),
	.uncounted = true,
	.open = kevent_open,
	.change = kevent_change,
	.wait = kevent_wait,
	.close = kevent_close,
};
