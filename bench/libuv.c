/*
 * libuv's functions by their names.
 */
#include "libuv.h"

struct libuv libuv;

static const struct bench_symbol libuv_symbols[] = {
	{ "uv_loop_init", &libuv.loop_init },
	{ "uv_loop_close", &libuv.loop_close },
	{ "uv_loop_size", &libuv.loop_size },
	{ "uv_handle_size", &libuv.handle_size },
	{ "uv_poll_init", &libuv.poll_init },
	{ "uv_poll_start", &libuv.poll_start },
	{ "uv_poll_stop", &libuv.poll_stop },
	{ "uv_timer_init", &libuv.timer_init },
	{ "uv_timer_start", &libuv.timer_start },
	{ "uv_timer_stop", &libuv.timer_stop },
	{ "uv_async_init", &libuv.async_init },
	{ "uv_async_send", &libuv.async_send },
	{ "uv_handle_set_data", &libuv.set_data },
	{ "uv_handle_get_data", &libuv.get_data },
	{ "uv_close", &libuv.close },
	{ "uv_update_time", &libuv.update_time },
	{ "uv_run", &libuv.run },
	{ NULL, NULL },
};

struct bench_library libuv_library = {
	.name = "libuv",
	.file = "libuv.so.1",
	.package = "libuv1",
	.symbols = libuv_symbols,
};
