/*
 * looptest on poll(2), written by hand: a dense array that holds only what is
 * wanted.  The read ends never change; wanted write ends follow them, and one
 * that is disabled is replaced by the last, so both changes are O(1).
 *
 * owners[i] is the pipe of fds[i], and places[k] is where the write end of
 * pipe k sits, while it is wanted.
 */
#include <poll.h>
#include <stdlib.h>

#include "looptest.h"

struct poll_state {
	const struct looptest *test;
	uint64_t syscalls;
	struct pollfd *fds;
	struct bench_pair **owners;
	int *places;
	int len;
};

static void poll_append(struct poll_state *state, int fd, short events,
                        struct bench_pair *pipe)
{
	state->fds[state->len] = (struct pollfd){ .fd = fd, .events = events };
	state->owners[state->len] = pipe;
	state->len++;
}

static void poll_enable(struct poll_state *state, struct bench_pair *pipe)
{
	state->places[pipe - state->test->pipes] = state->len;
	poll_append(state, pipe->write_fd, POLLOUT, pipe);
}

static void poll_disable(struct poll_state *state, struct bench_pair *pipe)
{
	int place = state->places[pipe - state->test->pipes];
	int last = --state->len;

	if (place == last)
		return;
	state->fds[place] = state->fds[last];
	state->owners[place] = state->owners[last];
	state->places[state->owners[place] - state->test->pipes] = place;
}

static void poll_close(void *opened)
{
	struct poll_state *state = opened;

	free(state->fds);
	free(state->owners);
	free(state->places);
	free(state);
}

static int poll_open(void *setup, const struct bench_way *way, void **opened)
{
	struct poll_state *state = calloc(1, sizeof *state);
	struct looptest *test = setup;
	size_t n = (size_t)test->n;
	int rc;

	(void)way;
	if (state == NULL)
		return -ENOMEM;
	state->test = test;
	state->fds = calloc(2 * n, sizeof *state->fds);
	state->owners = calloc(2 * n, sizeof *state->owners);
	state->places = calloc(n, sizeof *state->places);
	if (state->fds == NULL || state->owners == NULL || state->places == NULL) {
		poll_close(state);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		poll_append(state, test->pipes[i].read_fd, POLLIN, &test->pipes[i]);
	rc = looptest_start(test);
	if (rc < 0)
		poll_close(state);
	else
		*opened = state;
	return rc;
}

static int poll_readable(struct poll_state *state, struct bench_pair *pipe)
{
	state->syscalls++;
	poll_enable(state, looptest_next(state->test, pipe));
	return looptest_take(pipe);
}

static int poll_writable(struct poll_state *state, struct bench_pair *pipe)
{
	state->syscalls++;
	poll_disable(state, pipe);
	return bench_give(pipe);
}

/*
 * Serve what the last poll(2) found; how many reads that were, or -errno.
 * Goes from the end, because disabling moves only what was already seen.
 */
static int poll_serve(struct poll_state *state, int ready)
{
	int reads = 0;

	for (int i = state->len - 1; ready > 0 && i >= 0; i--) {
		int rc;

		if (state->fds[i].revents == 0)
			continue;
		ready--;
		rc = state->fds[i].events & POLLIN
		             ? poll_readable(state, state->owners[i])
		             : poll_writable(state, state->owners[i]);
		if (rc < 0)
			return rc;
		reads += rc;
	}
	return reads;
}

static int poll_run(void *opened, uint64_t count)
{
	struct poll_state *state = opened;
	uint64_t reads = 0;

	while (reads < count) {
		int ready = poll(state->fds, (nfds_t)state->len, -1);
		int rc;

		state->syscalls++;
		if (ready < 0 && !bench_goes_on(errno))
			return -errno;
		rc = poll_serve(state, ready);
		if (rc < 0)
			return rc;
		reads += (uint64_t)rc;
	}
	return 0;
}

static uint64_t poll_syscalls(const void *opened)
{
	return ((const struct poll_state *)opened)->syscalls;
}

const struct bench_ops looptest_poll_ops = {
	.open = poll_open,
	.run = poll_run,
	.syscalls = poll_syscalls,
	.close = poll_close,
};
