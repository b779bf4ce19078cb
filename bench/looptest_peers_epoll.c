/*
 * The hand-written variants of looptest on a system with epoll(7).
 */
#include <stddef.h>

#include "looptest.h"

const struct bench_variant looptest_peers[] = {
	{ "raw-epoll", &looptest_epoll_ops, NULL },
	{ "raw-poll", &looptest_poll_ops, NULL },
	{ "raw-select", &looptest_select_ops, NULL },
	{ NULL, NULL, NULL },
};
