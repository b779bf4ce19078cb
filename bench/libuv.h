/*
 * libuv, found at run time: what of its interface is needed.
 */
#ifndef BENCH_LIBUV_H
#define BENCH_LIBUV_H

#include <stddef.h>
#include <stdint.h>

#include "bench.h"

#define UV_ASYNC      1 /* of uv_handle_type */
#define UV_POLL       8
#define UV_TIMER      13
#define UV_RUN_ONCE   1 /* of uv_run_mode */
#define UV_RUN_NOWAIT 2
#define UV_READABLE   1 /* of uv_poll_event */
#define UV_WRITABLE   2

struct libuv {
	int (*loop_init)(void *loop);
	int (*loop_close)(void *loop);
	size_t (*loop_size)(void);
	size_t (*handle_size)(int type);
	int (*poll_init)(void *loop, void *handle, int fd);
	int (*poll_start)(void *handle, int events,
	                  void (*happened)(void *handle, int status, int events));
	int (*poll_stop)(void *handle);
	int (*timer_init)(void *loop, void *timer);
	int (*timer_start)(void *timer, void (*expired)(void *timer),
	                   uint64_t timeout_ms, uint64_t repeat_ms);
	int (*timer_stop)(void *timer);
	int (*async_init)(void *loop, void *handle, void (*happened)(void *handle));
	int (*async_send)(void *handle);
	void (*set_data)(void *handle, void *data);
	void *(*get_data)(const void *handle);
	void (*close)(void *handle, void (*closed)(void *handle));
	void (*update_time)(void *loop);
	int (*run)(void *loop, int mode);
};

/* To be called when the library has been loaded. */
extern struct libuv libuv;
extern struct bench_library libuv_library;

#endif
