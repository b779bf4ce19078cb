/*
 * Time: the clock's, or what this process has used of the processor.
 */
#include <time.h>

#include "bench.h"

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t bench_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

bool bench_by_processor(const struct bench_workload *workload)
{
	return workload->by_processor;
}

int64_t bench_elapsed_ns(const struct bench_workload *workload)
{
	return clock_ns(bench_by_processor(workload) ? CLOCK_PROCESS_CPUTIME_ID
	                                             : CLOCK_MONOTONIC);
}
