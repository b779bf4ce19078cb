/*
 * The tables: `xpoll bench NAME` finds NAME here, workloads that are written on loops
 * find these loops, and looptest its rivals.
 */
#include "loop.h"

#define WORKLOADS(X) \
	X(looptest) X(active) X(idle) X(edge) X(dispatch) X(nested) \
	X(costs) X(memory) X(wake) X(threads) X(handoff) X(changes) X(wake_all) X(listener) \
	X(churn) X(http) X(dropin) X(timers) X(user) X(aio) X(sources) X(files) X(track)
#define DECLARED(name) extern const struct bench_workload bench_##name;
#define LISTED(name)   &bench_##name,

WORKLOADS(DECLARED)

const struct bench_workload *const bench_workloads[] = { WORKLOADS(LISTED) NULL };

#define LEVEL_DISPATCH (LOOP_LEVEL | LOOP_DISPATCH)

const struct loop_kind loop_kinds[] = {
	{ { .name = "raw-epoll", .loop = &loop_epoll },
	  LOOP_MODES | LOOP_THREADS | LOOP_WAKE | LOOP_CLOSES | LOOP_SWITCHES | LOOP_NESTS },
	{ { .name = "raw-poll", .loop = &loop_poll },
	  LEVEL_DISPATCH | LOOP_WAKE | LOOP_CLOSES | LOOP_SWITCHES },
	{ { .name = "libevent", .loop = &loop_libevent, .library = &libevent_library },
	  LEVEL_DISPATCH | LOOP_CLOSES | LOOP_TIMERS },
	{ { .name = "libuv", .loop = &loop_libuv, .library = &libuv_library },
	  LEVEL_DISPATCH | LOOP_WAKE | LOOP_CLOSES | LOOP_SWITCHES | LOOP_TIMERS |
	  LOOP_FILES | LOOP_READS },
	{ { .name = "by-hand", .loop = &loop_hand }, LOOP_FILES | LOOP_PROCESSES },
	{ { .name = "timerfd", .loop = &loop_timerfd }, LOOP_TIMERS },
	{ { 0 }, 0 },
};

/* Of the kernel's calls by hand, those that change few descriptors are written out. */
const struct bench_variant looptest_peers[] = {
	{ .name = "raw-epoll", .ops = &looptest_epoll_ops },
	{ .name = "four-calls", .ops = &looptest_four_ops },
	{ "raw-poll", &looptest_loop_ops, &loop_poll, NULL, NULL },
	{ "kevent", &looptest_loop_ops, &loop_kevent, NULL, NULL },
	{ "libevent", &looptest_loop_ops, &loop_libevent, &libevent_library, NULL },
	{ "libuv", &looptest_loop_ops, &loop_libuv, &libuv_library, NULL },
	{ 0 },
};
