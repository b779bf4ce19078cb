/*
 * kqueue-change: a descriptor is added by kevent(2) and deleted by another one,
 * beside epoll_ctl(2), which does no more than that.
 */
#include "kqueue_change.h"

#include <stdlib.h>
#include <string.h>
#include <sys/event.h>

#include "workloads.h"

struct change_state {
	const struct bench_pairs *sockets;
	int fd;
	int next;
};

static int change_open_setup(const struct bench_options *options, void **setup)
{
	struct bench_pairs *sockets = calloc(1, sizeof *sockets);
	int rc;

	if (sockets == NULL) {
		bench_complain(&bench_kqueue_change, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	rc = bench_pairs_open(&bench_kqueue_change, BENCH_SOCKETS, options->n, sockets);
	if (rc < 0)
		free(sockets);
	else
		*setup = sockets;
	return rc;
}

static void change_close_setup(void *setup)
{
	bench_pairs_close(setup);
	free(setup);
}

static void change_close(void *opened)
{
	struct change_state *state = opened;

	close(state->fd);
	free(state);
}

static int change_open(void *setup, const struct bench_way *way, void **opened)
{
	struct change_state *state = calloc(1, sizeof *state);

	(void)way;
	if (state == NULL)
		return -ENOMEM;
	state->sockets = setup;
	state->fd = kqueue();
	if (state->fd < 0) {
		int rc = -errno;

		free(state);
		return rc;
	}
	*opened = state;
	return 0;
}

static int change_run(void *opened, uint64_t count)
{
	struct change_state *state = opened;

	while (count-- > 0) {
		struct bench_pair *pair = &state->sockets->at[state->next];
		struct kevent change;

		if (++state->next == state->sockets->len)
			state->next = 0;
		EV_SET(&change, pair->read_fd, EVFILT_READ, EV_ADD, 0, 0, pair);
		if (kevent(state->fd, &change, 1, NULL, 0, NULL) < 0)
			return -errno;
		EV_SET(&change, pair->read_fd, EVFILT_READ, EV_DELETE, 0, 0, pair);
		if (kevent(state->fd, &change, 1, NULL, 0, NULL) < 0)
			return -errno;
	}
	return 0;
}

/* The library does not say. */
static uint64_t change_syscalls(const void *opened)
{
	(void)opened;
	return BENCH_UNKNOWN;
}

static const struct bench_ops change_ops = {
	.open = change_open,
	.run = change_run,
	.syscalls = change_syscalls,
	.close = change_close,
};

const struct bench_workload bench_kqueue_change = {
	.name = "kqueue-change",
	.summary = "add and delete of a socket by kevent(2)",
	.help =
		"Each of N sockets in turn is added for reading, and deleted, in a call each.\n"
		"\n"
		"kevent     kqueue(2): on Linux that of libxpoll-kqueue\n"
		"raw-epoll  epoll_ctl(2)\n",
	.unit = "pair",
	.items = "sockets",
	.n_default = 64,
	.n_max = 10000000,
	.references = { "raw-epoll" },
	.by_processor = true,
	.descriptors = bench_pairs_descriptors,
	.open = change_open_setup,
	.close = change_close_setup,
	.queue = &change_ops,
	.queue_name = "kevent",
	.peers = kqueue_change_peers,
};
