/*
 * looptest on xpoll, through the five calls of the original: xpoll_open (in
 * place of xpoll_create, to name the back end), xpoll_ctl, xpoll_wait,
 * xpoll_revents, xpoll_destroy.
 *
 * System calls are those that xpoll_stats counts, plus our reads and writes.
 */
#include <stdlib.h>
#include <string.h>

#include <xpoll.h>

#include "looptest.h"

struct queue_state {
	const struct looptest *test;
	struct xpoll *queue;
	uint64_t io; /* reads and writes */
};

static int queue_register(struct xpoll *queue, struct bench_pair *pipe)
{
	if (xpoll_ctl(queue, XPOLL_ADD, POLLIN, pipe->read_fd, pipe) < 0 ||
	    xpoll_ctl(queue, XPOLL_ADD, POLLOUT, pipe->write_fd, pipe) < 0 ||
	    xpoll_ctl(queue, XPOLL_DISABLE, POLLOUT, pipe->write_fd, pipe) < 0)
		return -errno;
	return 0;
}

static int queue_fill(struct queue_state *state)
{
	for (int i = 0; i < state->test->n; i++) {
		int rc = queue_register(state->queue, &state->test->pipes[i]);

		if (rc < 0)
			return rc;
	}
	return looptest_start(state->test);
}

static void queue_close(void *opened)
{
	struct queue_state *state = opened;

	xpoll_destroy(state->queue);
	free(state);
}

static int queue_open(void *setup, const struct bench_way *way, void **opened)
{
	struct xpoll_options options;
	struct queue_state *state = calloc(1, sizeof *state);
	int rc;

	if (state == NULL)
		return -ENOMEM;
	memset(&options, 0, sizeof options);
	options.size = sizeof options;
	options.backend = way->backend;
	state->test = setup;
	options.size_hint = 2 * state->test->n;
	state->queue = xpoll_open(&options);
	rc = state->queue == NULL ? -errno : queue_fill(state);
	if (rc < 0)
		queue_close(state);
	else
		*opened = state;
	return rc;
}

static int queue_readable(struct queue_state *state, struct bench_pair *pipe)
{
	const struct bench_pair *next = looptest_next(state->test, pipe);
	int rc = looptest_take(pipe);

	if (rc < 0)
		return rc;
	if (xpoll_ctl(state->queue, XPOLL_ENABLE, POLLOUT, next->write_fd, NULL) < 0)
		return -errno;
	state->io++;
	return rc;
}

static int queue_writable(struct queue_state *state, struct bench_pair *pipe)
{
	if (xpoll_ctl(state->queue, XPOLL_DISABLE, POLLOUT, pipe->write_fd, NULL) < 0)
		return -errno;
	state->io++;
	return bench_give(pipe);
}

static int queue_run(void *opened, uint64_t count)
{
	struct queue_state *state = opened;
	uint64_t reads = 0;

	while (reads < count) {
		void *pipe;
		int revents;

		if (xpoll_wait(state->queue, -1) < 0 && !bench_goes_on(errno))
			return -errno;
		while ((revents = xpoll_revents(state->queue, &pipe)) != 0) {
			int rc = revents & POLLIN ? queue_readable(state, pipe)
			                          : queue_writable(state, pipe);

			if (rc < 0)
				return rc;
			reads += (uint64_t)rc;
		}
	}
	return 0;
}

static uint64_t queue_syscalls(const void *opened)
{
	const struct queue_state *state = opened;
	struct xpoll_stats stats;

	if (xpoll_stats(state->queue, &stats, sizeof stats) < 0)
		return 0;
	return state->io + stats.syscalls_wait + stats.syscalls_change +
	       stats.syscalls_check + stats.syscalls_wake;
}

const struct bench_ops looptest_queue_ops = {
	.open = queue_open,
	.run = queue_run,
	.syscalls = queue_syscalls,
	.close = queue_close,
};
