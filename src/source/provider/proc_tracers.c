/* Ways to learn of forks and execs, best first. */
#include <stddef.h>

#include "source/proc_state.h"
#include "source/provider/proc_tracers.h"

const struct xp_tracer_ops *const xp_tracers[] = {
	&xp_tracer_connector,
	&xp_tracer_perf,
	NULL,
};
