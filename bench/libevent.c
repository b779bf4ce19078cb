/*
 * libevent's functions by their names.
 */
#include "libevent.h"

struct libevent libevent;

const struct bench_symbol libevent_symbols[] = {
	{ "event_base_new", &libevent.base_new },
	{ "event_base_free", &libevent.base_free },
	{ "event_base_loop", &libevent.base_loop },
	{ "event_get_struct_event_size", &libevent.event_size },
	{ "event_assign", &libevent.assign },
	{ "event_add", &libevent.add },
	{ "event_del", &libevent.del },
	{ NULL, NULL },
};
