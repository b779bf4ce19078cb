/* Declares the back end, the tracers of processes, and the asynchronous I/O that only Linux has. */
#ifndef XP_LINUX_SYSTEM_H
#define XP_LINUX_SYSTEM_H

#include "source/aio_work.h"
#include "source/proc_state.h"
#include "sys/backend.h"

extern const struct xp_backend_ops xp_backend_epoll;
extern const struct xp_tracer_ops xp_tracer_connector;
extern const struct xp_tracer_ops xp_tracer_perf;
extern const struct xp_aio_provider xp_aio_uring;

#endif
