/*
 * What is measured on Windows, and beside what.
 */
#include <stddef.h>

#include "looptest.h"
#include "serve.h"

const struct bench_workload *const bench_workloads[] = {
	&bench_looptest,
	&bench_active,
	&bench_idle,
	&bench_edge,
	&bench_dispatch,
	NULL,
};

const struct bench_variant looptest_peers[] = {
	{ "raw-afd", &looptest_afd_ops, NULL, NULL },
	{ "raw-poll", &looptest_poll_ops, NULL, NULL },
	{ 0 },
};

/* Without a pipe WSAPoll cannot be woken, nor does it notice that a socket is closed. */
const struct loop_kind loop_kinds[] = {
	{ { "raw-poll", NULL, NULL, &loop_poll }, LOOP_LEVEL | LOOP_DISPATCH },
	{ { 0 }, 0 },
};
