/*
 * libevent's functions by their names.
 */
#include "libevent.h"

struct libevent libevent;

static const struct bench_symbol libevent_symbols[] = {
	{ "event_base_new", &libevent.base_new },
	{ "event_base_free", &libevent.base_free },
	{ "event_base_loop", &libevent.base_loop },
	{ "event_get_struct_event_size", &libevent.event_size },
	{ "event_assign", &libevent.assign },
	{ "event_add", &libevent.add },
	{ "event_del", &libevent.del },
	{ NULL, NULL },
};

struct bench_library libevent_library = {
	.name = "libevent",
	.file = "libevent_core-2.1.so.7",
	.package = "libevent-core-2.1-7",
	.symbols = libevent_symbols,
};
