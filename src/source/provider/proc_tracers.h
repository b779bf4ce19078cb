/* The tracers of this system. */
#ifndef XP_SOURCE_PROVIDER_PROC_TRACERS_H
#define XP_SOURCE_PROVIDER_PROC_TRACERS_H

#include "source/proc_state.h"

extern const struct xp_tracer_ops xp_tracer_connector;
extern const struct xp_tracer_ops xp_tracer_perf;

#endif
