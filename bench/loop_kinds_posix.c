/*
 * The loops on a system without epoll(7).
 */
#include <stddef.h>

#include "libevent.h"
#include "libuv.h"
#include "loop.h"

const struct loop_kind loop_kinds[] = {
	{ { "raw-poll", NULL, NULL, &loop_poll },
	  LOOP_LEVEL | LOOP_DISPATCH | LOOP_WAKE | LOOP_CLOSES },
	{ { "raw-select", NULL, NULL, &loop_select }, LOOP_LEVEL | LOOP_CLOSES },
	{ { "libev", NULL, &loop_libev_library, &loop_libev },
	  LOOP_LEVEL | LOOP_DISPATCH | LOOP_WAKE | LOOP_CLOSES },
	{ { "libevent", NULL, &libevent_library, &loop_libevent },
	  LOOP_LEVEL | LOOP_DISPATCH | LOOP_CLOSES },
	{ { "libuv", NULL, &libuv_library, &loop_libuv },
	  LOOP_LEVEL | LOOP_DISPATCH | LOOP_WAKE | LOOP_CLOSES },
	{ { 0 }, 0 },
};
