/*
 * A loop on poll(2), written by hand: the array has a place for each id, and one
 * that is not wanted has a descriptor below zero, which poll(2) passes over.
 * To be woken it has a pipe in the last place.
 */
#include "loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

struct poll_loop {
	const struct loop_target *targets;
	struct pollfd *fds;
	int len;          /* places in use are below */
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
	free(loop);
}

static int poll_open(const struct loop_setup *setup, void **opened)
{
	struct poll_loop *loop = calloc(1, sizeof *loop);
	int rc = 0;

	if (loop == NULL)
		return -ENOMEM;
	loop->targets = setup->targets;
	loop->dispatch = setup->mode == LOOP_DISPATCH;
	loop->fds = calloc((size_t)setup->len + 1, sizeof *loop->fds);
	if (loop->fds == NULL)
		rc = -ENOMEM;
	for (int i = 0; i < setup->len && rc == 0; i++)
		loop->fds[i].fd = -1;
	if (rc == 0 && setup->wakes) {
		rc = pipe2(loop->wake_fds, O_CLOEXEC | O_NONBLOCK) < 0 ? -errno : 0;
		loop->wakes = rc == 0;
		if (loop->wakes)
			loop->fds[setup->len] = (struct pollfd){
				.fd = loop->wake_fds[0], .events = POLLIN,
			};
		loop->len = setup->len + 1;
	}
	if (rc < 0)
		poll_close(loop);
	else
		*opened = loop;
	return rc;
}

static int poll_change(void *opened, enum loop_change change, const int *ids, int len)
{
	struct poll_loop *loop = opened;

	for (int i = 0; i < len; i++) {
		const struct loop_target *target = &loop->targets[ids[i]];
		struct pollfd *at = &loop->fds[ids[i]];
		bool wanted = change == LOOP_ADD || change == LOOP_ENABLE;

		at->fd = wanted ? target->fd : -1;
		at->events = target->events;
		if (ids[i] >= loop->len)
			loop->len = ids[i] + 1;
		if (change == LOOP_CLOSE) {
			close(target->fd);
			bench_calls++;
		}
	}
	return 0;
}

static int poll_take(struct poll_loop *loop, struct loop_hand *hand, int left)
{
	int len = 0;

	for (int id = 0; left > 0 && id < loop->len; id++) {
		struct pollfd *at = &loop->fds[id];

		if (at->revents == 0)
			continue;
		left--;
		if (loop->wakes && id == loop->len - 1) {
			char byte;

			bench_calls++;
			(void)!read(loop->wake_fds[0], &byte, 1); /* one wake at a time */
			loop_report(hand, &len, LOOP_WOKEN, POLLIN);
			continue;
		}
		loop_report(hand, &len, id, at->revents);
		if (loop->dispatch)
			at->fd = -1;
	}
	return len;
}

static int poll_wait(void *opened, struct loop_hand *hand, const int *enable,
                     int enable_len, bool block)
{
	struct poll_loop *loop = opened;
	int count;

	(void)poll_change(loop, LOOP_ENABLE, enable, enable_len);
	count = poll(loop->fds, (nfds_t)loop->len, block ? -1 : 0);
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
	.open = poll_open,
	.change = poll_change,
	.wait = poll_wait,
	.wake = poll_wake,
	.close = poll_close,
};
