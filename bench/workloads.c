/*
 * The table of workloads: `xpoll bench NAME` finds NAME here.
 */
#include <stddef.h>

#include "bench.h"
#include "dropin.h"
#include "looptest.h"
#include "timers.h"

const struct bench_workload *const bench_workloads[] = {
	&bench_looptest,
	&bench_dropin,
	&bench_timers,
	NULL,
};
