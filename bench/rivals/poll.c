/*
 * A loop on poll(2), written by hand: a dense array of the descriptors with requested events.  A
 * descriptor that leaves the array is replaced by the last one, so each change is O(1).  The first
 * entry is a pipe that wakes the thread.
 *
 * Caution: once poll(2) has found a ready descriptor, it checks each of the remaining ones in a
 * fourth of the time.  So the position of a ready descriptor matters more than the number of
 * descriptors.
 */
#include "loop.h"

#include <fcntl.h>
#include <stdlib.h>

struct poll_loop {
	const struct loop_target *targets;
	struct pollfd *fds;
	int *ids;    /* ids of targets, indexed like fds; LOOP_WOKEN: the pipe */
	int *places; /* index in fds plus 1, indexed by id; 0: not in the array */
	int len;     /* number of entries in fds */
	int wake_fds[2];
	bool wakes;
	bool dispatch;
};

static void poll_close(void *opened)
{
	struct poll_loop *loop = opened;

	if (loop->wakes) {
		close(loop->wake_fds[0]);
		close(loop->wake_fds[1]);
	}
	free(loop->fds);
	free(loop->ids);
	free(loop->places);
}

static void poll_append(struct poll_loop *loop, int id, int fd, short events)
{
	loop->fds[loop->len] = (struct pollfd){ .fd = fd, .events = events };
	loop->ids[loop->len] = id;
	loop->len++;
}

static int poll_open(void *opened, const struct bench_field *field,
                     const struct bench_way *way)
{
	struct poll_loop *loop = opened;
	unsigned uses = way->workload->loops;
	size_t len = (size_t)field->len + 1;

	loop->targets = field->targets;
	loop->dispatch = (uses & LOOP_DISPATCH) != 0;
	loop->fds = calloc(len, sizeof *loop->fds);
	loop->ids = calloc(len, sizeof *loop->ids);
	loop->places = calloc(len, sizeof *loop->places);
	if (loop->fds == NULL || loop->ids == NULL || loop->places == NULL)
		return -ENOMEM;
	if ((uses & LOOP_WAKE) == 0)
		return 0;
	if (pipe2(loop->wake_fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	loop->wakes = true;
	poll_append(loop, LOOP_WOKEN, loop->wake_fds[0], POLLIN);
	return 0;
}

static void poll_want(struct poll_loop *loop, int id)
{
	const struct loop_target *target = &loop->targets[id];

	if (loop->places[id] != 0) {
		loop->fds[loop->places[id] - 1] =
			(struct pollfd){ .fd = target->fd, .events = target->events };
		return;
	}
	loop->places[id] = loop->len + 1;
	poll_append(loop, id, target->fd, target->events);
}

static void poll_drop(struct poll_loop *loop, int id)
{
	int place = loop->places[id] - 1;

	if (place < 0)
		return;
	loop->places[id] = 0;
	if (place == --loop->len)
		return;
	loop->fds[place] = loop->fds[loop->len];
	loop->ids[place] = loop->ids[loop->len];
	loop->places[loop->ids[place]] = place + 1;
}

static int poll_change(void *opened, enum loop_change change, const int *ids, int len)
{
	struct poll_loop *loop = opened;

	for (int i = 0; i < len; i++) {
		if (change == LOOP_ADD || change == LOOP_ENABLE || change == LOOP_WATCH)
			poll_want(loop, ids[i]);
		else
			poll_drop(loop, ids[i]);
		if (change == LOOP_CLOSE) {
			close(loop->targets[ids[i]].fd);
			bench_calls++;
		}
	}
	return 0;
}

static void poll_take_wake(struct poll_loop *loop)
{
	char byte;

	bench_calls++;
	(void)!read(loop->wake_fds[0], &byte, 1); /* read one byte, because each wake writes one */
}

static int poll_take(struct poll_loop *loop, struct loop_hand *hand, int left)
{
	hand->len = 0;
	for (int place = 0; left > 0 && place < loop->len; place++) {
		int id = loop->ids[place];
		short events = loop->fds[place].revents;

		if (events == 0)
			continue;
		left--;
		loop_report(hand, id, events);
		if (id == LOOP_WOKEN)
			poll_take_wake(loop);
		else if (loop->dispatch)
			/* keep the entry, because the target is enabled again soon */
			loop->fds[place].fd = -1;
	}
	return hand->len;
}

static int poll_wait(void *opened, struct loop_hand *hand, bool block)
{
	struct poll_loop *loop = opened;
	int count = poll(loop->fds, (nfds_t)loop->len, block ? -1 : 0);

	bench_calls++;
	if (count < 0)
		return bench_goes_on(errno) ? 0 : -errno;
	return poll_take(loop, hand, count);
}

static int poll_wake(void *opened)
{
	struct poll_loop *loop = opened;

	bench_calls++;
	return write(loop->wake_fds[1], "w", 1) == 1 ? 0 : -errno;
}

const struct loop_ops loop_poll = {
	.name = "raw-poll",
	.can = LOOP_LEVEL | LOOP_DISPATCH | LOOP_WAKE | LOOP_CLOSES | LOOP_SWITCHES,
	.size = sizeof(struct poll_loop),
	.open = poll_open,
	.change = poll_change,
	.wait = poll_wait,
	.wake = poll_wake,
	.close = poll_close,
};
