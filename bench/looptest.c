/*
 * looptest: the pipes that all its variants share.
 */
#include <stdlib.h>
#include <string.h>

#include "looptest.h"

static void looptest_close(void *setup)
{
	struct looptest *test = setup;

	bench_pairs_close(&test->opened);
	free(test);
}

static int looptest_open(const struct bench_options *options, void **setup)
{
	struct looptest *test = calloc(1, sizeof *test);
	int rc;

	if (test == NULL) {
		bench_complain(&bench_looptest, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	rc = bench_pairs_open(&bench_looptest, BENCH_PIPES, options->n, &test->opened);
	if (rc < 0) {
		free(test);
		return rc;
	}
	test->pipes = test->opened.at;
	test->n = options->n;
	for (int i = 0; i < test->n; i++) {
		if (test->pipes[i].read_fd > test->fd_max)
			test->fd_max = test->pipes[i].read_fd;
		if (test->pipes[i].write_fd > test->fd_max)
			test->fd_max = test->pipes[i].write_fd;
	}
	*setup = test;
	return 0;
}

int looptest_start(const struct looptest *test)
{
	bench_pairs_drain(&test->opened);
	return bench_give(&test->pipes[0]);
}

static const struct bench_variant looptest_limit = {
	"limit", &looptest_limit_ops, NULL, NULL
};

static const char looptest_help[] =
	"The benchmark of the original xpoll.  Both ends of N pipes are registered,\n"
	"the write ends disabled.  A readable pipe is read and the next one's write\n"
	"end enabled; a writable one is disabled and written to.  So each read costs\n"
	"a write, two waits and two changes of interest.\n"
	"\n"
	"xpoll-NAME   xpoll on a back end, through its poll-like calls\n"
	"raw-NAME     the same, written by hand on the kernel's own calls\n"
	"four-calls   by hand the four system calls that xpoll makes on epoll, and no\n"
	"             bookkeeping: what its method can reach at best\n"
	"libev, libevent, libuv   the same on these libraries, if they are here\n"
	PROGRAM_HELP
	"limit        the reads and writes alone\n"
	"\n"
	"System calls of xpoll are those that its counters show, plus the program's\n"
	"reads and writes; those of the others are counted where they are made.\n";

const struct bench_workload bench_looptest = {
	.name = "looptest",
	.summary = "one token goes round n pipes; interest changes with every event",
	.help = looptest_help,
	.unit = "read",
	.items = "pipes",
	.n_default = 8,
	.n_max = 10000000,
	.references = { "raw-epoll", "raw-poll", "four-calls", "limit" },
	.by_processor = true,
	.descriptors = bench_pairs_descriptors,
	.open = looptest_open,
	.close = looptest_close,
	.queue = &looptest_queue_ops,
	.programs = (const int[]){ 1 },
	.programs_len = 1,
	.rings = true,
	.peers = looptest_peers,
	.limit = &looptest_limit,
};
