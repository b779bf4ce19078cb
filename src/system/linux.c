/* What the library uses of Linux. */
#include <stddef.h>

#include "backend/backend.h"
#include "source/proc_state.h"
#include "source/provider/aio_work.h"

/* The back ends, best first. */
const struct xp_backend_ops *const xp_backends[] = {
	&xp_backend_epoll,
	&xp_backend_poll,
	&xp_backend_select,
	NULL,
};

/* Ways to learn of forks and execs, best first. */
const struct xp_tracer_ops *const xp_tracers[] = {
	&xp_tracer_connector,
	&xp_tracer_perf,
	NULL,
};

/* Who does asynchronous I/O, best first. */
const struct xp_aio_provider *const xp_aio_providers[] = {
	&xp_aio_uring,
	&xp_aio_threads,
	NULL,
};
