/*
 * The table of workloads: `xpoll bench NAME` finds NAME here.
 */
#include <stddef.h>

#include "bench.h"
#include "dropin.h"
#include "looptest.h"
#include "serve.h"
#include "timers.h"
#include "workloads.h"

const struct bench_workload *const bench_workloads[] = {
	&bench_looptest,
	&bench_active,
	&bench_idle,
	&bench_edge,
	&bench_dispatch,
	&bench_costs,
	&bench_wake,
	&bench_threads,
	&bench_churn,
	&bench_memory,
	&bench_dropin,
	&bench_kqueue,
	&bench_kqueue_change,
	&bench_timers,
	NULL,
};
