/*
 * kqueue: looptest through kevent(2), with each event's count filled in, beside
 * epoll(7) by hand, which counts nothing.
 *
 * It is written as for a BSD: changes are collected and go along with the next
 * wait.
 */
#include <stdlib.h>
#include <sys/event.h>

#include "looptest.h"
#include "workloads.h"

struct kqueue_state {
	const struct looptest *test;
	int fd;
	int changes_len;
	struct kevent changes[2 * LOOPTEST_EVENTS];
	struct kevent events[LOOPTEST_EVENTS];
};

static int kqueue_setup(const struct bench_options *options, void **setup)
{
	return bench_looptest.open(options, setup);
}

static void kqueue_setup_close(void *setup)
{
	bench_looptest.close(setup);
}

static int64_t kqueue_descriptors(int n)
{
	return bench_looptest.descriptors(n) + 8;
}

static int kqueue_fill(struct kqueue_state *state)
{
	for (int i = 0; i < state->test->n; i++) {
		struct bench_pair *pipe = &state->test->pipes[i];
		struct kevent changes[2];

		EV_SET(&changes[0], pipe->read_fd, EVFILT_READ, EV_ADD, 0, 0,
		       pipe);
		EV_SET(&changes[1], pipe->write_fd, EVFILT_WRITE,
		       EV_ADD | EV_DISABLE, 0, 0, pipe);
		if (kevent(state->fd, changes, 2, NULL, 0, NULL) < 0)
			return -errno;
	}
	return looptest_start(state->test);
}

static void kqueue_close(void *opened)
{
	struct kqueue_state *state = opened;

	if (state->fd >= 0)
		close(state->fd);
	free(state);
}

static int kqueue_open(void *setup, const struct bench_way *way, void **opened)
{
	struct kqueue_state *state = calloc(1, sizeof *state);
	int rc;

	(void)way;
	if (state == NULL)
		return -ENOMEM;
	state->test = setup;
	state->fd = kqueue();
	rc = state->fd < 0 ? -errno : kqueue_fill(state);
	if (rc < 0)
		kqueue_close(state);
	else
		*opened = state;
	return rc;
}

/* 1: a read was done. */
static int kqueue_handle(struct kqueue_state *state, const struct kevent *event)
{
	struct kevent *change = &state->changes[state->changes_len];
	struct bench_pair *pipe = event->udata;

	if (event->flags & EV_ERROR)
		return -(int)event->data;
	if (event->data < 1)
		return -EIO; /* A count that is none. */
	state->changes_len++;
	if (event->filter == EVFILT_READ) {
		struct bench_pair *next = looptest_next(state->test, pipe);

		EV_SET(change, next->write_fd, EVFILT_WRITE, EV_ENABLE, 0, 0,
		       next);
		return looptest_take(pipe);
	}
	EV_SET(change, pipe->write_fd, EVFILT_WRITE, EV_DISABLE, 0, 0, pipe);
	return bench_give(pipe);
}

static int kqueue_run(void *opened, uint64_t count)
{
	struct kqueue_state *state = opened;
	uint64_t reads = 0;

	while (reads < count) {
		int ready = kevent(state->fd, state->changes, state->changes_len,
		                   state->events, LOOPTEST_EVENTS, NULL);

		if (ready < 0 && !bench_goes_on(errno))
			return -errno;
		state->changes_len = 0;
		for (int i = 0; i < ready; i++) {
			int rc = kqueue_handle(state, &state->events[i]);

			if (rc < 0)
				return rc;
			reads += (uint64_t)rc;
		}
	}
	return 0;
}

/* The library does not say. */
static uint64_t kqueue_syscalls(const void *opened)
{
	(void)opened;
	return BENCH_UNKNOWN;
}

static const struct bench_ops kqueue_ops = {
	.open = kqueue_open,
	.run = kqueue_run,
	.syscalls = kqueue_syscalls,
	.close = kqueue_close,
};

static const struct bench_variant kqueue_limit = {
	"limit", &looptest_limit_ops, NULL, NULL
};

static const char kqueue_help[] =
	"looptest, written for a BSD: changes go along with the next wait, and each\n"
	"event brings the number of bytes to read, or the room to write.  epoll\n"
	"counts nothing.\n"
	"\n"
	"kevent     kqueue(2): on Linux that of libxpoll-kqueue\n"
	"raw-epoll  epoll(7), by hand\n"
	"limit      the reads and writes alone\n";

const struct bench_workload bench_kqueue = {
	.name = "kqueue",
	.summary = "looptest through kevent(2), with counts",
	.help = kqueue_help,
	.unit = "read",
	.items = "pipes",
	.n_default = 8,
	.n_max = 10000000,
	.references = { "raw-epoll", "limit" },
	.by_processor = true,
	.descriptors = kqueue_descriptors,
	.open = kqueue_setup,
	.close = kqueue_setup_close,
	.queue = &kqueue_ops,
	.queue_name = "kevent",
	.peers = looptest_peers,
	.limit = &kqueue_limit,
};
