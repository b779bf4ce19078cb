/*
 * looptest by hand with the four system calls that lazy interest needs: the
 * read ends level-triggered and the write ends edge-triggered in one epoll(7)
 * set, each registered once, and poll(2) with timeout 0 for the write end that
 * is wanted.  There is no bookkeeping: it knows that one write end at a time
 * is.  This is what the method can reach at best.
 */
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "looptest.h"

struct four_state {
	const struct looptest *test;
	struct bench_pair *wanted; /* its write end is enabled */
	uint64_t syscalls;
	int fd;
	struct epoll_event events[LOOPTEST_EVENTS];
};

static int four_add(struct four_state *state, int fd, uint32_t events,
                    struct bench_pair *pipe)
{
	struct epoll_event event = { .events = events, .data.ptr = pipe };

	state->syscalls++;
	return epoll_ctl(state->fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int four_fill(struct four_state *state)
{
	for (int i = 0; i < state->test->n; i++) {
		struct bench_pair *pipe = &state->test->pipes[i];
		int rc = four_add(state, pipe->read_fd, EPOLLIN, pipe);

		if (rc == 0)
			rc = four_add(state, pipe->write_fd, EPOLLOUT | EPOLLET, pipe);
		if (rc < 0)
			return rc;
	}
	return looptest_start(state->test);
}

static void four_close(void *opened)
{
	struct four_state *state = opened;

	if (state->fd >= 0)
		close(state->fd);
	free(state);
}

static int four_open(void *setup, const struct bench_way *way, void **opened)
{
	struct four_state *state = calloc(1, sizeof *state);
	int rc;

	(void)way;
	if (state == NULL)
		return -ENOMEM;
	state->test = setup;
	state->fd = epoll_create1(EPOLL_CLOEXEC);
	rc = state->fd < 0 ? -errno : four_fill(state);
	if (rc < 0)
		four_close(state);
	else
		*opened = state;
	return rc;
}

/* The write end is ready: it is disabled, and written to. */
static int four_writable(struct four_state *state)
{
	struct bench_pair *pipe = state->wanted;

	state->wanted = NULL;
	state->syscalls++;
	return bench_give(pipe);
}

static int four_event(struct four_state *state, const struct epoll_event *event)
{
	struct bench_pair *pipe = event->data.ptr;

	if (event->events & EPOLLIN) {
		state->wanted = looptest_next(state->test, pipe);
		state->syscalls++;
		return looptest_take(pipe);
	}
	/* An edge of a write end that nobody wants means nothing. */
	return pipe == state->wanted ? four_writable(state) : 0;
}

static int four_run(void *opened, uint64_t count)
{
	struct four_state *state = opened;
	uint64_t reads = 0;

	while (reads < count) {
		int ready;

		if (state->wanted != NULL) {
			struct pollfd probe = { .fd = state->wanted->write_fd,
			                        .events = POLLOUT };
			int rc = poll(&probe, 1, 0);

			state->syscalls++;
			if (rc > 0)
				rc = four_writable(state);
			if (rc < 0 && !bench_goes_on(errno))
				return rc;
		}
		ready = epoll_wait(state->fd, state->events, LOOPTEST_EVENTS, -1);
		state->syscalls++;
		if (ready < 0 && !bench_goes_on(errno))
			return -errno;
		for (int i = 0; i < ready; i++) {
			int rc = four_event(state, &state->events[i]);

			if (rc < 0)
				return rc;
			reads += (uint64_t)rc;
		}
	}
	return 0;
}

static uint64_t four_syscalls(const void *opened)
{
	return ((const struct four_state *)opened)->syscalls;
}

const struct bench_ops looptest_four_calls_ops = {
	.open = four_open,
	.run = four_run,
	.syscalls = four_syscalls,
	.close = four_close,
};
