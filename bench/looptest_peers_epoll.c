/*
 * The variants beside xpoll of looptest on a system with epoll(7).
 */
#include <stddef.h>

#include "libevent.h"
#include "libuv.h"
#include "looptest.h"

const struct bench_variant looptest_peers[] = {
	{ "raw-epoll", &looptest_epoll_ops, NULL, NULL },
	{ "four-calls", &looptest_four_calls_ops, NULL, NULL },
	{ "raw-poll", &looptest_poll_ops, NULL, NULL },
	{ "raw-select", &looptest_select_ops, NULL, NULL },
	{ "libev", &looptest_loop_ops, &loop_libev_library, &loop_libev },
	{ "libevent", &looptest_loop_ops, &libevent_library, &loop_libevent },
	{ "libuv", &looptest_loop_ops, &libuv_library, &loop_libuv },
	{ 0 },
};
