/*
 * A loop on epoll(7), written by hand: one set, one epoll_ctl for each change.
 * To be woken it has an eventfd in the set, edge-triggered so that it need not
 * be read.
 */
#include "loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct epoll_loop {
	const struct loop_target *targets;
	uint32_t mode; /* EPOLLET, EPOLLONESHOT, or 0 */
	int fd;
	int wake_fd;
};

static void epoll_close(void *opened)
{
	struct epoll_loop *loop = opened;

	if (loop->fd >= 0)
		close(loop->fd);
	if (loop->wake_fd >= 0)
		close(loop->wake_fd);
}

static int epoll_open_wake(struct epoll_loop *loop)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLET,
		.data.u32 = (uint32_t)LOOP_WOKEN,
	};

	loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop->wake_fd < 0 ||
	    epoll_ctl(loop->fd, EPOLL_CTL_ADD, loop->wake_fd, &event) < 0)
		return -errno;
	return 0;
}

static int epoll_open(void *opened, const struct loop_setup *setup)
{
	struct epoll_loop *loop = opened;

	loop->targets = setup->targets;
	loop->mode = setup->mode == LOOP_EDGE ? EPOLLET
	             : setup->mode == LOOP_DISPATCH ? EPOLLONESHOT : 0;
	loop->wake_fd = -1;
	loop->fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->fd < 0)
		return -errno;
	return setup->wakes ? epoll_open_wake(loop) : 0;
}

static int epoll_change(void *opened, enum loop_change change, const int *ids, int len)
{
	static const int ops[] = {
		[LOOP_ADD] = EPOLL_CTL_ADD, [LOOP_DELETE] = EPOLL_CTL_DEL,
		[LOOP_DISABLE] = EPOLL_CTL_MOD, [LOOP_ENABLE] = EPOLL_CTL_MOD,
	};
	struct epoll_loop *loop = opened;

	for (int i = 0; i < len; i++) {
		const struct loop_target *target = &loop->targets[ids[i]];
		struct epoll_event event = { .data.u32 = (uint32_t)ids[i] };

		bench_calls++;
		if (change == LOOP_CLOSE) {
			close(target->fd);
			continue;
		}
		if (change != LOOP_DISABLE) /* POLLIN is EPOLLIN, as the others */
			event.events = (uint32_t)target->events | loop->mode;
		if (epoll_ctl(loop->fd, ops[change], target->fd, &event) < 0)
			return -errno;
	}
	return 0;
}

static int epoll_wait_ready(void *opened, struct loop_hand *hand, const int *enable,
                            int enable_len, bool block)
{
	struct epoll_loop *loop = opened;
	struct epoll_event *events = hand->records;
	int count = epoll_change(loop, LOOP_ENABLE, enable, enable_len);

	if (count < 0)
		return count;
	count = epoll_wait(loop->fd, events, hand->cap, block ? -1 : 0);
	bench_calls++;
	if (count < 0)
		return bench_goes_on(errno) ? 0 : -errno;
	for (int i = 0; i < count; i++)
		hand->ready[i] = (struct loop_ready){
			(int)events[i].data.u32, (short)events[i].events,
		};
	return count;
}

static int epoll_wake(void *opened)
{
	struct epoll_loop *loop = opened;

	bench_calls++;
	return eventfd_write(loop->wake_fd, 1) < 0 ? -errno : 0;
}

const struct loop_ops loop_epoll = {
	.size = sizeof(struct epoll_loop),
	.record_size = sizeof(struct epoll_event),
	.open = epoll_open,
	.change = epoll_change,
	.wait = epoll_wait_ready,
	.wake = epoll_wake,
	.close = epoll_close,
};
