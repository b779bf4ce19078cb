/*
 * looptest: the pipes that all its variants share.
 *
 * The pipes do not block: a variant that reads where nothing is, or writes
 * where no room is, gets EAGAIN, and the run fails instead of hanging.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "looptest.h"

static int64_t looptest_descriptors(int n)
{
	return 2 * (int64_t)n;
}

static int looptest_prepare_fd(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	return 0;
}

/* On failure whatever was opened is in *pipe, for looptest_close. */
static int looptest_open_pipe(struct looptest_pipe *pipe_ends)
{
	int fds[2];
	int rc;

	if (pipe(fds) < 0)
		return -errno;
	pipe_ends->read_fd = fds[0];
	pipe_ends->write_fd = fds[1];
	rc = looptest_prepare_fd(fds[0]);
	return rc < 0 ? rc : looptest_prepare_fd(fds[1]);
}

static void looptest_close(void *setup)
{
	struct looptest *test = setup;

	for (int i = 0; i < test->n; i++) {
		if (test->pipes[i].read_fd < 0)
			continue;
		close(test->pipes[i].read_fd);
		close(test->pipes[i].write_fd);
	}
	free(test->pipes);
	free(test);
}

static int looptest_open_pipes(struct looptest *test)
{
	for (int i = 0; i < test->n; i++) {
		struct looptest_pipe *ends = &test->pipes[i];
		int rc = looptest_open_pipe(ends);

		if (rc < 0) {
			bench_complain(&bench_looptest, "cannot open pipe %d of %d: %s",
			               i + 1, test->n, strerror(-rc));
			return rc;
		}
		if (ends->read_fd > test->fd_max)
			test->fd_max = ends->read_fd;
		if (ends->write_fd > test->fd_max)
			test->fd_max = ends->write_fd;
	}
	return 0;
}

static int looptest_open(const struct bench_options *options, void **setup)
{
	struct looptest *test = calloc(1, sizeof *test);
	struct looptest_pipe *pipes = calloc((size_t)options->n, sizeof *pipes);
	int rc;

	if (test == NULL || pipes == NULL) {
		free(test);
		free(pipes);
		bench_complain(&bench_looptest, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	for (int i = 0; i < options->n; i++)
		pipes[i] = (struct looptest_pipe){ -1, -1 };
	test->n = options->n;
	test->pipes = pipes;
	rc = looptest_open_pipes(test);
	if (rc < 0)
		looptest_close(test);
	else
		*setup = test;
	return rc;
}

int looptest_start(const struct looptest *test)
{
	char rest[16];

	for (int i = 0; i < test->n; i++)
		while (read(test->pipes[i].read_fd, rest, sizeof rest) > 0)
			; /* left over from the variant before */
	return looptest_give(&test->pipes[0]);
}

static const struct bench_variant looptest_limit = {
	"limit", &looptest_limit_ops, NULL
};

static const char looptest_help[] =
	"The benchmark of the original xpoll.  Both ends of N pipes are registered,\n"
	"the write ends disabled.  A readable pipe is read and the next one's write\n"
	"end enabled; a writable one is disabled and written to.  So each read costs\n"
	"a write, two waits and two changes of interest.\n"
	"\n"
	"xpoll-NAME   xpoll on a back end, through its poll-like calls\n"
	"raw-NAME     the same, written by hand on the kernel's own calls\n"
	"limit        the reads and writes alone\n"
	"\n"
	"System calls of xpoll are those its own counters tell, plus the program's\n"
	"reads and writes; those of the others are counted where they are made.\n";

const struct bench_workload bench_looptest = {
	.name = "looptest",
	.summary = "one token goes round n pipes; interest changes with every event",
	.help = looptest_help,
	.unit = "read",
	.items = "pipes",
	.n_default = 8,
	.n_max = 10000000,
	.references = { "raw-epoll", "limit" },
	.descriptors = looptest_descriptors,
	.open = looptest_open,
	.close = looptest_close,
	.queue = &looptest_queue_ops,
	.peers = looptest_peers,
	.limit = &looptest_limit,
};
