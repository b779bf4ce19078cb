/*
 * looptest, the limit: the reads and writes alone, by a program that knows
 * beforehand what the kernel would report.
 */
#include <stdlib.h>

#include "looptest.h"

struct limit_state {
	const struct looptest *test;
	struct bench_pair *at; /* the token is in this pipe */
	uint64_t syscalls;
};

static int limit_open(void *setup, const struct bench_way *way, void **state)
{
	struct limit_state *limit = calloc(1, sizeof *limit);
	int rc;

	(void)way;
	if (limit == NULL)
		return -ENOMEM;
	limit->test = setup;
	limit->at = limit->test->pipes;
	rc = looptest_start(limit->test);
	if (rc < 0)
		free(limit);
	else
		*state = limit;
	return rc;
}

static int limit_run(void *state, uint64_t count)
{
	struct limit_state *limit = state;

	for (uint64_t reads = 0; reads < count; reads++) {
		int rc = bench_take_given(limit->at);

		if (rc < 0)
			return rc;
		limit->at = looptest_next(limit->test, limit->at);
		rc = bench_give(limit->at);
		if (rc < 0)
			return rc;
		limit->syscalls += 2;
	}
	return 0;
}

static uint64_t limit_syscalls(const void *state)
{
	return ((const struct limit_state *)state)->syscalls;
}

const struct bench_ops looptest_limit_ops = {
	.open = limit_open,
	.run = limit_run,
	.syscalls = limit_syscalls,
	.close = free,
};
