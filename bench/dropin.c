/*
 * drop-in: the pipes that all its variants share, and the limit.
 *
 * The active pipes are spread evenly over the array, and stay the same: which
 * ones they are makes no difference to any of the variants.
 */
#include "dropin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t dropin_descriptors(int n)
{
	return 2 * (int64_t)n;
}

static void dropin_close(void *setup)
{
	struct dropin *test = setup;

	for (int i = 0; i < test->n; i++) {
		if (test->pipes[i].read_fd < 0)
			continue;
		close(test->pipes[i].read_fd);
		close(test->pipes[i].write_fd);
	}
	free(test->pipes);
	free(test);
}

static int dropin_open_pipes(struct dropin *test)
{
	for (int i = 0; i < test->n; i++) {
		int ends[2];

		if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0) {
			int rc = -errno;

			bench_complain(&bench_dropin, "cannot open pipe %d of %d: %s",
			               i + 1, test->n, strerror(-rc));
			return rc;
		}
		test->pipes[i] = (struct dropin_pipe){ ends[0], ends[1] };
	}
	return 0;
}

static int dropin_open(const struct bench_options *options, void **setup)
{
	struct dropin *test = calloc(1, sizeof *test);
	struct dropin_pipe *pipes = calloc((size_t)options->n, sizeof *pipes);
	int rc;

	if (options->library == NULL)
		bench_complain(&bench_dropin, "cannot find libxpoll-poll.so");
	if (test == NULL || pipes == NULL || options->library == NULL) {
		free(test);
		free(pipes);
		return -ENOENT;
	}
	for (int i = 0; i < options->n; i++)
		pipes[i] = (struct dropin_pipe){ -1, -1 };
	test->library = options->library;
	test->n = options->n;
	test->pipes = pipes;
	test->active = test->n < DROPIN_ACTIVE ? test->n : DROPIN_ACTIVE;
	test->step = test->n / test->active;
	rc = dropin_open_pipes(test);
	if (rc < 0)
		dropin_close(test);
	else
		*setup = test;
	return rc;
}

int dropin_write(const struct dropin *test)
{
	for (int i = 0; i < test->active; i++)
		if (write(test->pipes[i * test->step].write_fd, "x", 1) != 1)
			return errno != 0 ? -errno : -EIO;
	return 0;
}

int dropin_read(int fd)
{
	char byte;
	ssize_t len = read(fd, &byte, 1);

	if (len == 1)
		return 0;
	return len < 0 ? -errno : -EIO;
}

/* --- The limit: waiting costs nothing --------------------------------------- */

struct limit_state {
	const struct dropin *test;
	uint64_t rounds;
};

static int limit_open(void *setup, const char *backend, void **opened)
{
	struct limit_state *state = calloc(1, sizeof *state);

	(void)backend;
	if (state == NULL)
		return -ENOMEM;
	state->test = setup;
	*opened = state;
	return 0;
}

static int limit_run(void *opened, uint64_t count)
{
	struct limit_state *state = opened;
	const struct dropin *test = state->test;

	for (uint64_t round = 0; round < count; round++) {
		int rc = dropin_write(test);

		for (int i = 0; i < test->active && rc == 0; i++)
			rc = dropin_read(test->pipes[i * test->step].read_fd);
		if (rc < 0)
			return rc;
		state->rounds++;
	}
	return 0;
}

static uint64_t limit_syscalls(const void *opened)
{
	const struct limit_state *state = opened;

	return 2 * (uint64_t)state->test->active * state->rounds;
}

const struct bench_ops dropin_limit_ops = {
	.open = limit_open,
	.run = limit_run,
	.syscalls = limit_syscalls,
	.close = free,
};

/* --- The workload ------------------------------------------------------------- */

static const struct bench_variant dropin_peers[] = {
	{ "raw-poll", &dropin_real_ops, NULL },
	{ "raw-epoll", &dropin_epoll_ops, NULL },
	{ NULL, NULL, NULL },
};

static const struct bench_variant dropin_limit = { "limit", &dropin_limit_ops, NULL };

static const char dropin_help[] =
	"A round: 10 of N pipes get a byte, a program waits, and reads them.  The\n"
	"program is written for poll(2) and goes through its whole array each time.\n"
	"\n"
	"drop-in     that program with libxpoll-poll.so in front of the C library\n"
	"raw-poll    that program as it is\n"
	"raw-epoll   the same work, written for epoll(7)\n"
	"limit       the writes and reads alone\n"
	"\n"
	"Below 32 pipes the drop-in passes every call through.\n";

const struct bench_workload bench_dropin = {
	.name = "drop-in",
	.summary = "poll(2) programs with 10 active descriptors among n",
	.help = dropin_help,
	.unit = "round",
	.items = "pipes",
	.n_default = 5000,
	.n_max = 500000,
	.descriptors = dropin_descriptors,
	.open = dropin_open,
	.close = dropin_close,
	.queue = &dropin_poll_ops,
	.queue_name = "drop-in",
	.peers = dropin_peers,
	.limit = &dropin_limit,
	.references = { "raw-poll", "raw-epoll" },
};
