/*
 * Room for descriptors: RLIMIT_NOFILE is raised as far as this process may.
 */
#include <sys/resource.h>

#include "bench.h"

/* stdin, stdout, stderr, the report, the queues' own, and what we inherited */
#define OWN_DESCRIPTORS 64

/* Ask for the soft limit; past the hard one only the privileged get it. */
static rlim_t limits_raise(rlim_t wanted)
{
	struct rlimit limit;
	struct rlimit more;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	if (limit.rlim_cur >= wanted)
		return limit.rlim_cur;
	more = limit;
	more.rlim_cur = wanted;
	if (more.rlim_max < wanted)
		more.rlim_max = wanted;
	if (setrlimit(RLIMIT_NOFILE, &more) == 0)
		return wanted;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
		return limit.rlim_max;
	return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? 0 : limit.rlim_cur;
}

/* The largest n that fits into that many descriptors. */
static int limits_largest_n(const struct bench_workload *workload, int64_t allowed)
{
	int low = 0;
	int high = workload->n_max;

	while (low < high) {
		int middle = low + (high - low + 1) / 2;

		if (workload->descriptors(middle) + OWN_DESCRIPTORS <= allowed)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

int bench_reserve_descriptors(const struct bench_report *report)
{
	const struct bench_workload *workload = report->workload;
	int64_t wanted = workload->descriptors(report->options->n) + OWN_DESCRIPTORS;
	rlim_t allowed = limits_raise((rlim_t)wanted);

	if (allowed >= (rlim_t)wanted)
		return 0;
	bench_complain(workload,
	               "-n %d: expected at most %d %s here: they need %lld "
	               "descriptors, and RLIMIT_NOFILE allows %llu (ulimit -Hn)",
	               report->options->n,
	               limits_largest_n(workload, (int64_t)allowed),
	               workload->items, (long long)wanted,
	               (unsigned long long)allowed);
	return 2;
}
