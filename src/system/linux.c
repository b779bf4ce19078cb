/* What the library uses of Linux. */
#include "os/system.h"

#include "backend/backend.h"
#include "source/proc_state.h"
#include "source/provider/aio_work.h"

const struct xp_system xp_system = {
	.backends = {&xp_backend_epoll, &xp_backend_poll, &xp_backend_select},
	.tracers = {&xp_tracer_connector, &xp_tracer_perf},
	.aio = &xp_aio_uring,
};
