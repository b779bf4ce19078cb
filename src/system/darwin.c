/* What the library uses of macOS, whose poll(2) takes no mask of signals. */
#include <stddef.h>

#include "backend/backend.h"
#include "source/proc_state.h"
#include "source/provider/aio_work.h"

/* The back ends, best first. */
const struct xp_backend_ops *const xp_backends[] = {
	&xp_backend_kqueue,
	&xp_backend_select,
	NULL,
};

/* Forks and execs are not reported, or not as the contract wants it. */
const struct xp_tracer_ops *const xp_tracers[] = {
	NULL,
};

/* Who does asynchronous I/O, best first. */
const struct xp_aio_provider *const xp_aio_providers[] = {
	&xp_aio_threads,
	NULL,
};
