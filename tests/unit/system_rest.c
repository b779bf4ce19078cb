/* For tests with a table of back ends of their own: the rest of src/system/linux.c. */
#include <stddef.h>

#include "source/proc_state.h"
#include "source/provider/aio_work.h"

const struct xp_tracer_ops *const xp_tracers[] = {NULL};
const struct xp_aio_provider *const xp_aio_providers[] = {NULL};
