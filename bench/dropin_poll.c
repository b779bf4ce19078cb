/*
 * drop-in: the program that is written for poll(2).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "dropin.h"

struct poll_state {
	const struct serve *test;
	int (*poll)(struct pollfd *, nfds_t, int);
	int (*dup3)(int, int, int);      /* the drop-in's; NULL: there is none */
	uint64_t (*poll_syscalls)(void); /* NULL: a poll is a poll */
	void *library;
	uint64_t syscalls_before;
	struct pollfd *fds;
};

/*
 * The library stays: it has no way back, as with LD_PRELOAD.  But what it has in
 * its epoll instance would make each write of the other variants dearer, so all
 * of it is taken out: a copy of itself takes the place of each descriptor.
 */
static void poll_give_back(const struct poll_state *state)
{
	const struct bench_pairs *pairs = &state->test->field->pairs;

	for (int i = 0; i < pairs->len; i++) {
		int copy = dup(pairs->at[i].read_fd);

		if (copy < 0)
			continue; /* the others get a little dearer */
		(void)state->dup3(copy, pairs->at[i].read_fd, O_CLOEXEC);
		close(copy);
	}
}

static void poll_close(void *opened)
{
	struct poll_state *state = opened;

	if (state->dup3 != NULL)
		poll_give_back(state);
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
	if (rc == 0)
		rc = find(state->library, "dup3", &state->dup3);
	if (rc < 0)
		poll_close(state);
	else
		state->syscalls_before = state->poll_syscalls();
	return rc;
}

/*
 * Read where poll(2) found something, `ready` times; 0 or -errno.  The loop is
 * the one in every textbook, and the same for all that poll here.
 */
static int poll_serve(const struct poll_state *state, int ready)
{
	const struct bench_pairs *pairs = &state->test->field->pairs;
	const struct pollfd *fds = state->fds;
	int len = pairs->len;

	for (int i = 0; i < len; i++) {
		int rc;

		if (fds[i].revents == 0)
			continue;
		rc = bench_take(&pairs->at[i]);
		if (rc < 0)
			return rc;
		if (--ready == 0)
			break;
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

/* --- What a drop-in could reach that costs nothing ------------------------ */

static struct {
	int epoll_fd;
	int found[SERVE_ACTIVE_MAX]; /* by the last call */
	int found_len;
} ideal;

/* It need not look for changes, as there are none. */
static int ideal_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct epoll_event events[SERVE_ACTIVE_MAX];
	int rc;

	(void)count;
	for (int i = 0; i < ideal.found_len; i++)
		fds[ideal.found[i]].revents = 0;
	rc = epoll_wait(ideal.epoll_fd, events, SERVE_ACTIVE_MAX, timeout_ms);
	ideal.found_len = rc > 0 ? rc : 0;
	for (int i = 0; i < ideal.found_len; i++) {
		ideal.found[i] = (int)events[i].data.u32;
		fds[ideal.found[i]].revents = (short)events[i].events;
	}
	return rc;
}

static void ideal_close(void *opened)
{
	close(ideal.epoll_fd);
	poll_close(opened);
}

static int ideal_open(void *setup, const struct bench_way *way, void **opened)
{
	const struct serve *test = setup;
	struct poll_state *state;
	int rc = real_open(setup, way, opened);

	if (rc < 0)
		return rc;
	state = *opened;
	state->poll = ideal_poll;
	ideal.found_len = 0;
	ideal.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < test->field->pairs.len; i++) {
		struct epoll_event event = {
			.events = EPOLLIN,
			.data.u32 = (uint32_t)i,
		};

		if (epoll_ctl(ideal.epoll_fd, EPOLL_CTL_ADD, state->fds[i].fd,
		              &event) == 0)
			continue;
		rc = -errno;
		ideal_close(state);
		return rc;
	}
	return 0;
}

const struct bench_ops dropin_ideal_ops = {
	.open = ideal_open,
	.run = poll_run,
	.syscalls = poll_syscalls,
	.close = ideal_close,
};

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
