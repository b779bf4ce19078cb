/*
 * A loop on epoll(7), written by hand: one set, one epoll_ctl(2) for each change.  An eventfd in
 * the set wakes a thread; it is edge-triggered, so it need not be read.
 */
#include "loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct epoll_loop {
	const struct loop_target *targets;
	uint32_t mode; /* EPOLLET, EPOLLONESHOT, or 0 */
	int fd;
	int wake_fd;
	int all_fd; /* an eventfd like wake_fd, but level-triggered: wakes all threads */
};

static void epoll_close(void *opened)
{
	const struct epoll_loop *loop = opened;
	const int fds[] = { loop->fd, loop->wake_fd, loop->all_fd };

	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static int epoll_open_wake(struct epoll_loop *loop, int *fd, uint32_t mode)
{
	struct epoll_event event = {
		.events = EPOLLIN | mode,
		.data.u32 = (uint32_t)LOOP_WOKEN,
	};

	*fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return *fd < 0 || epoll_ctl(loop->fd, EPOLL_CTL_ADD, *fd, &event) < 0 ? -errno : 0;
}

static int epoll_open(void *opened, const struct bench_field *field,
                      const struct bench_way *way)
{
	struct epoll_loop *loop = opened;
	unsigned uses = way->workload->loops;

	loop->targets = field->targets;
	loop->mode = uses & LOOP_EDGE        ? EPOLLET
	             : uses & LOOP_DISPATCH  ? EPOLLONESHOT
	             : uses & LOOP_EXCLUSIVE ? EPOLLEXCLUSIVE : 0;
	loop->wake_fd = loop->all_fd = -1;
	loop->fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->fd < 0)
		return -errno;
	return uses & LOOP_WAKE ? epoll_open_wake(loop, &loop->wake_fd, EPOLLET) : 0;
}

static int epoll_change(void *opened, enum loop_change change, const int *ids, int len)
{
	static const int ops[] = {
		[LOOP_ADD] = EPOLL_CTL_ADD, [LOOP_DELETE] = EPOLL_CTL_DEL,
		[LOOP_DISABLE] = EPOLL_CTL_MOD, [LOOP_ENABLE] = EPOLL_CTL_MOD,
		[LOOP_WATCH] = EPOLL_CTL_MOD,
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
		if (change != LOOP_DISABLE) /* POLLIN equals EPOLLIN, and so on */
			event.events = (uint32_t)target->events | loop->mode;
		if (epoll_ctl(loop->fd, ops[change], target->fd, &event) < 0)
			return -errno;
	}
	return 0;
}

static int epoll_wait_ready(void *opened, struct loop_hand *hand, bool block)
{
	struct epoll_loop *loop = opened;
	struct epoll_event *events = hand->records;
	int count = epoll_wait(loop->fd, events, hand->cap, block ? -1 : 0);

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

static int epoll_wake_all(void *opened, bool on)
{
	struct epoll_loop *loop = opened;
	eventfd_t count;
	int rc = loop->all_fd < 0 ? epoll_open_wake(loop, &loop->all_fd, 0) : 0;

	if (rc < 0)
		return rc;
	bench_calls++;
	rc = on ? eventfd_write(loop->all_fd, 1) : eventfd_read(loop->all_fd, &count);
	return rc < 0 ? -errno : 0;
}

static int epoll_fd(void *opened)
{
	return ((struct epoll_loop *)opened)->fd;
}

const struct loop_ops loop_epoll = {
	.name = "raw-epoll",
	.can = LOOP_MODES | LOOP_THREADS | LOOP_WAKE | LOOP_CLOSES | LOOP_SWITCHES | LOOP_NESTS,
	.size = sizeof(struct epoll_loop),
	.record_size = sizeof(struct epoll_event),
	.open = epoll_open,
	.change = epoll_change,
	.wait = epoll_wait_ready,
	.wake = epoll_wake,
	.wake_all = epoll_wake_all,
	.fd = epoll_fd,
	.close = epoll_close,
};
