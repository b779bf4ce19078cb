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
	&bench_files,
	&bench_track,
	&bench_nested,
	NULL,
};

const struct loop_kind loop_kinds[] = {
	{ { .name = "raw-epoll", .loop = &loop_epoll },
	  LOOP_MODES | LOOP_THREADS | LOOP_WAKE | LOOP_CLOSES | LOOP_SWITCHES |
	  LOOP_NESTS },
	{ { .name = "raw-poll", .loop = &loop_poll },
	  LOOP_LEVEL | LOOP_DISPATCH | LOOP_WAKE | LOOP_CLOSES | LOOP_SWITCHES },
	{ { .name = "raw-select", .loop = &loop_select }, LOOP_LEVEL | LOOP_CLOSES },
	{ { .name = "libev", .library = &libev_library, .loop = &loop_libev },
	  LOOP_LEVEL | LOOP_DISPATCH | LOOP_WAKE | LOOP_CLOSES },
	{ { .name = "libevent", .library = &libevent_library, .loop = &loop_libevent },
	  LOOP_LEVEL | LOOP_DISPATCH | LOOP_CLOSES | LOOP_TIMERS },
	{ { .name = "libuv", .library = &libuv_library, .loop = &loop_libuv },
	  LOOP_LEVEL | LOOP_DISPATCH | LOOP_WAKE | LOOP_CLOSES | LOOP_SWITCHES | LOOP_TIMERS |
	  LOOP_FILES | LOOP_READS },
	{ { .name = "by-hand", .loop = &loop_hand }, LOOP_FILES | LOOP_PROCESSES },
	{ { .name = "timerfd", .loop = &loop_timerfd }, LOOP_TIMERS },
	{ { 0 }, 0 },
};

/* Of the kernel's calls by hand, those that change few descriptors are written out. */
const struct bench_variant looptest_peers[] = {
	{ .name = "raw-epoll", .ops = &looptest_epoll_ops },
	{ .name = "four-calls", .ops = &looptest_four_ops },
	{ .name = "raw-poll", .ops = &looptest_loop_ops, .loop = &loop_poll },
	{ .name = "raw-select", .ops = &looptest_loop_ops, .loop = &loop_select },
	{ "libev", &looptest_loop_ops, &libev_library, &loop_libev, NULL, NULL },
	{ "libevent", &looptest_loop_ops, &libevent_library, &loop_libevent, NULL, NULL },
	{ "libuv", &looptest_loop_ops, &libuv_library, &loop_libuv, NULL, NULL },
	{ 0 },
};
