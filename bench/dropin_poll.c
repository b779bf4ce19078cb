/*
 * drop-in: the program that is written for poll(2).
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "dropin.h"

struct poll_state {
	const struct serve *test;
	int (*poll)(struct pollfd *, nfds_t, int);
	uint64_t (*poll_syscalls)(void); /* NULL: a poll is a poll */
	void *library;
	uint64_t syscalls_before;
	struct pollfd *fds;
};

static void poll_close(void *opened)
{
	struct poll_state *state = opened;

	/* The library stays: it has no way back, as with LD_PRELOAD. */
	free(state->fds);
	free(state);
}

static int real_open(void *setup, const struct bench_way *way, void **opened)
{
	struct poll_state *state = calloc(1, sizeof *state);
	const struct serve *test = setup;

	(void)way;
	if (state == NULL)
		return -ENOMEM;
	state->test = test;
	state->poll = poll;
	bench_pairs_drain(&test->field->pairs);
	state->fds = calloc((size_t)test->field->pairs.len, sizeof *state->fds);
	if (state->fds == NULL) {
		poll_close(state);
		return -ENOMEM;
	}
	for (int i = 0; i < test->field->pairs.len; i++)
		state->fds[i] = (struct pollfd){
			.fd = test->field->pairs.at[i].read_fd,
			.events = POLLIN,
		};
	*opened = state;
	return 0;
}

/* Pointers to functions need a copy. */
static int find(void *library, const char *name, void *pointer)
{
	void *found = dlsym(library, name);

	if (found == NULL)
		return -ENOENT;
	memcpy(pointer, &found, sizeof found);
	return 0;
}

static int dropin_poll_open(void *setup, const struct bench_way *way, void **opened)
{
	const struct serve *test = setup;
	struct poll_state *state;
	int rc = real_open(setup, way, opened);

	if (rc < 0)
		return rc;
	state = *opened;
	state->library = dlopen(test->library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	rc = state->library == NULL ? -ENOENT : 0;
	if (rc == 0)
		rc = find(state->library, "poll", &state->poll);
	if (rc == 0)
		rc = find(state->library, "xpoll_poll_syscalls", &state->poll_syscalls);
	if (rc < 0)
		poll_close(state);
	else
		state->syscalls_before = state->poll_syscalls();
	return rc;
}

/* Read where poll(2) found something, `ready` times; 0 or -errno. */
static int poll_serve(const struct poll_state *state, int ready)
{
	for (int i = 0; ready > 0; i++) {
		int rc;

		if (state->fds[i].revents == 0)
			continue;
		rc = bench_take(&state->test->field->pairs.at[i]);
		if (rc < 0)
			return rc;
		ready--;
	}
	return 0;
}

static int poll_round(struct poll_state *state, int k)
{
	const struct serve *test = state->test;
	int left = k;
	int rc = serve_write(test, k);

	while (rc == 0 && left > 0) {
		int ready = state->poll(state->fds, (nfds_t)test->field->pairs.len, -1);

		if (ready < 0) {
			if (!bench_goes_on(errno))
				return -errno;
			continue;
		}
		bench_calls += state->poll_syscalls == NULL;
		left -= ready;
		rc = poll_serve(state, ready);
	}
	return rc;
}

static int poll_run(void *opened, uint64_t count)
{
	struct poll_state *state = opened;
	int active = serve_active(state->test, 0);
	int rc = 0;

	while (count > 0 && rc == 0) {
		int k = count < (uint64_t)active ? (int)count : active;

		rc = poll_round(state, k);
		count -= (uint64_t)k;
	}
	return rc;
}

static uint64_t poll_syscalls(const void *opened)
{
	const struct poll_state *state = opened;

	if (state->poll_syscalls == NULL)
		return bench_calls;
	return bench_calls + state->poll_syscalls() - state->syscalls_before;
}

const struct bench_ops dropin_real_ops = {
	.open = real_open,
	.run = poll_run,
	.syscalls = poll_syscalls,
	.close = poll_close,
};

const struct bench_ops dropin_poll_ops = {
	.open = dropin_poll_open,
	.run = poll_run,
	.syscalls = poll_syscalls,
	.close = poll_close,
};
