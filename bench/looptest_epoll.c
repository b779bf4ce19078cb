/*
 * looptest on epoll(7), written by hand: level-triggered, one set, one
 * epoll_ctl(MOD) for each change, pointers as cookies.  A write end that is
 * not wanted stays in the set with an empty mask.
 */
#include <stdlib.h>
#include <sys/epoll.h>

#include "looptest.h"

struct epoll_state {
	const struct looptest *test;
	uint64_t syscalls;
	int fd;
	struct epoll_event events[LOOPTEST_EVENTS];
};

static int epoll_change(struct epoll_state *state, int op, int fd, uint32_t events,
                        struct bench_pair *pipe)
{
	struct epoll_event event = { .events = events, .data.ptr = pipe };

	state->syscalls++;
	return epoll_ctl(state->fd, op, fd, &event) < 0 ? -errno : 0;
}

static int epoll_fill(struct epoll_state *state)
{
	for (int i = 0; i < state->test->n; i++) {
		struct bench_pair *pipe = &state->test->pipes[i];
		int rc = epoll_change(state, EPOLL_CTL_ADD, pipe->read_fd, EPOLLIN, pipe);

		if (rc == 0)
			rc = epoll_change(state, EPOLL_CTL_ADD, pipe->write_fd, 0, pipe);
		if (rc < 0)
			return rc;
	}
	return looptest_start(state->test);
}

static void epoll_close(void *opened)
{
	struct epoll_state *state = opened;

	if (state->fd >= 0)
		close(state->fd);
	free(state);
}

static int epoll_open(void *setup, const struct bench_way *way, void **opened)
{
	struct epoll_state *state = calloc(1, sizeof *state);
	int rc;

	(void)way;
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

static int epoll_readable(struct epoll_state *state, struct bench_pair *pipe)
{
	struct bench_pair *next = looptest_next(state->test, pipe);
	int rc = looptest_take(pipe);
	int changed;

	if (rc < 0)
		return rc;
	state->syscalls++;
	changed = epoll_change(state, EPOLL_CTL_MOD, next->write_fd, EPOLLOUT, next);
	return changed < 0 ? changed : rc;
}

static int epoll_writable(struct epoll_state *state, struct bench_pair *pipe)
{
	int rc = epoll_change(state, EPOLL_CTL_MOD, pipe->write_fd, 0, pipe);

	if (rc < 0)
		return rc;
	state->syscalls++;
	return bench_give(pipe);
}

static int epoll_run(void *opened, uint64_t count)
{
	struct epoll_state *state = opened;
	uint64_t reads = 0;

	while (reads < count) {
		int ready = epoll_wait(state->fd, state->events, LOOPTEST_EVENTS, -1);

		state->syscalls++;
		if (ready < 0 && !bench_goes_on(errno))
			return -errno;
		for (int i = 0; i < ready; i++) {
			struct bench_pair *pipe = state->events[i].data.ptr;
			int rc = state->events[i].events & EPOLLIN
			                 ? epoll_readable(state, pipe)
			                 : epoll_writable(state, pipe);

			if (rc < 0)
				return rc;
			reads += (uint64_t)rc;
		}
	}
	return 0;
}

static uint64_t epoll_syscalls(const void *opened)
{
	return ((const struct epoll_state *)opened)->syscalls;
}

const struct bench_ops looptest_epoll_ops = {
	.open = epoll_open,
	.run = epoll_run,
	.syscalls = epoll_syscalls,
	.close = epoll_close,
};
