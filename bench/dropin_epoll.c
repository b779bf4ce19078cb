/*
 * drop-in: the same work, written for epoll(7): level-triggered, one set.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "dropin.h"

#define EVENTS 64

struct epoll_state {
	const struct dropin *test;
	uint64_t syscalls;
	int fd;
	struct epoll_event events[EVENTS];
};

static void epoll_close(void *opened)
{
	struct epoll_state *state = opened;

	if (state->fd >= 0)
		close(state->fd);
	free(state);
}

static int epoll_fill(const struct epoll_state *state)
{
	for (int i = 0; i < state->test->n; i++) {
		int fd = state->test->pipes[i].read_fd;
		struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

		if (epoll_ctl(state->fd, EPOLL_CTL_ADD, fd, &event) < 0)
			return -errno;
	}
	return 0;
}

static int epoll_open(void *setup, const char *backend, void **opened)
{
	struct epoll_state *state = calloc(1, sizeof *state);
	int rc;

	(void)backend;
	if (state == NULL)
		return -ENOMEM;
	state->test = setup;
	state->fd = epoll_create1(EPOLL_CLOEXEC);
	rc = state->fd < 0 ? -errno : epoll_fill(state);
	if (rc < 0)
		epoll_close(state);
	else
		*opened = state;
	return rc;
}

static int epoll_round(struct epoll_state *state)
{
	int left = state->test->active;
	int rc = dropin_write(state->test);

	while (rc == 0 && left > 0) {
		int ready = epoll_wait(state->fd, state->events, EVENTS, -1);

		if (ready < 0 && !bench_goes_on(errno))
			return -errno;
		state->syscalls++;
		for (int i = 0; i < ready && rc == 0; i++, left--)
			rc = dropin_read(state->events[i].data.fd);
	}
	state->syscalls += 2 * (uint64_t)state->test->active;
	return rc;
}

static int epoll_run(void *opened, uint64_t count)
{
	struct epoll_state *state = opened;
	int rc = 0;

	for (uint64_t round = 0; round < count && rc == 0; round++)
		rc = epoll_round(state);
	return rc;
}

static uint64_t epoll_syscalls(const void *opened)
{
	return ((const struct epoll_state *)opened)->syscalls;
}

const struct bench_ops dropin_epoll_ops = {
	.open = epoll_open,
	.run = epoll_run,
	.syscalls = epoll_syscalls,
	.close = epoll_close,
};
