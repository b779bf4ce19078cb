/* The lists of Linux's back ends, tracers of processes, and asynchronous I/O, best first. */
#include "sys/system.h"

#include "linux/system.h"
#include "posix/system.h"

const struct xp_system xp_system = {
	.backends = {&xp_backend_epoll, &xp_backend_poll, &xp_backend_select},
	.tracers = {&xp_tracer_connector, &xp_tracer_perf},
	.aio = &xp_aio_uring,
};
