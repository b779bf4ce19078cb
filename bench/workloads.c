/*
 * The tables: `xpoll bench NAME` finds NAME here, workloads that are written on loops
 * find these loops, and looptest its rivals.  nt/system.c has those of Windows.
 */
#include "workloads.h"

const struct bench_workload *const bench_workloads[] = {
	WORKLOADS_EVERYWHERE,
	&bench_costs,
	&bench_wake,
	&bench_threads,
	&bench_handoff,
	&bench_changes,
	&bench_wake_all,
	&bench_listener,
	&bench_churn,
	&bench_http,
	&bench_memory,
	&bench_dropin,
	&bench_kqueue,
	&bench_kqueue_change,
	&bench_timers,
	&bench_user,
	&bench_aio,
	&bench_sources,
	NULL,
};

const struct loop_kind loop_kinds[] = {
	{ { "raw-epoll", NULL, NULL, &loop_epoll },
	  LOOP_MODES | LOOP_THREADS | LOOP_WAKE | LOOP_CLOSES | LOOP_SWITCHES },
	{ { "raw-poll", NULL, NULL, &loop_poll },
	  LOOP_LEVEL | LOOP_DISPATCH | LOOP_WAKE | LOOP_CLOSES | LOOP_SWITCHES },
	{ { "raw-select", NULL, NULL, &loop_select }, LOOP_LEVEL | LOOP_CLOSES },
	{ { "libev", NULL, &libev_library, &loop_libev },
	  LOOP_LEVEL | LOOP_DISPATCH | LOOP_WAKE | LOOP_CLOSES },
	{ { "libevent", NULL, &libevent_library, &loop_libevent },
	  LOOP_LEVEL | LOOP_DISPATCH | LOOP_CLOSES },
	{ { "libuv", NULL, &libuv_library, &loop_libuv },
	  LOOP_LEVEL | LOOP_DISPATCH | LOOP_WAKE | LOOP_CLOSES | LOOP_SWITCHES },
	{ { 0 }, 0 },
};

/* Of the kernel's calls by hand, those that change few descriptors are written out. */
const struct bench_variant looptest_peers[] = {
	{ "raw-epoll", &looptest_epoll_ops, NULL, NULL },
	{ "four-calls", &looptest_four_ops, NULL, NULL },
	{ "raw-poll", &looptest_loop_ops, NULL, &loop_poll },
	{ "raw-select", &looptest_loop_ops, NULL, &loop_select },
	{ "libev", &looptest_loop_ops, &libev_library, &loop_libev },
	{ "libevent", &looptest_loop_ops, &libevent_library, &loop_libevent },
	{ "libuv", &looptest_loop_ops, &libuv_library, &loop_libuv },
	{ 0 },
};
