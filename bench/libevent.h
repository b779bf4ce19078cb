/*
 * libevent, found at run time: what of its interface is needed.
 */
#ifndef BENCH_LIBEVENT_H
#define BENCH_LIBEVENT_H

#include <stddef.h>
#include <sys/time.h>

#include "bench.h"

#define EVLOOP_ONCE     1
#define EVLOOP_NONBLOCK 2
#define EV_READ         2
#define EV_WRITE        4
#define EV_PERSIST      16

struct libevent {
	void *(*base_new)(void);
	void (*base_free)(void *base);
	int (*base_loop)(void *base, int flags);
	size_t (*event_size)(void);
	int (*assign)(void *event, void *base, int fd, short events,
	              void (*happened)(int fd, short events, void *argument),
	              void *argument);
	int (*add)(void *event, const struct timeval *timeout);
	int (*del)(void *event);
};

/* To be called when the library has been loaded. */
extern struct libevent libevent;
extern struct bench_library libevent_library;

#endif
