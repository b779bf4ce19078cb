/* The functions of sys/sys.h for a system that has POSIX and nothing else. */
#include "sys/system.h"

#include <stddef.h>

#include "posix/system.h"
#include "source/proc_names.h"
#include "source/source.h"

const struct xp_system xp_system = {
	.backends = {&xp_backend_poll},
};

/* No call returns the number of unsent bytes. */
const struct xp_source_ops xp_source_empty = XP_SOURCE_ABSENT(EMPTY, NULL);

/* Nothing says when a process ends. */
const struct xp_source_ops xp_source_proc = XP_SOURCE_ABSENT(PROC, proc_names);
