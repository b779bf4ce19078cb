/*
 * The back ends and providers of Solaris.  select is none of them: bits that select(2) does not
 * report would need a helper set, see epoll_edge.c.
 */
#include "sys/system.h"

#include <stddef.h>

#include "posix/system.h"
#include "source/proc_names.h"
#include "source/source.h"
#include "sunos/system.h"

const struct xp_system xp_system = {
	.backends = {&xp_backend_port, &xp_backend_devpoll, &xp_backend_poll},
};

/* The system does not report how much is left in a buffer. */
const struct xp_source_ops xp_source_empty = XP_SOURCE_ABSENT(EMPTY, NULL);

/* The system does not report the exit of a process. */
const struct xp_source_ops xp_source_proc = XP_SOURCE_ABSENT(PROC, proc_names);
