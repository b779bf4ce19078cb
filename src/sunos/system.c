/*
 * The back ends of Solaris, the best one first, and the sources that the system lacks.  The select
 * back end is left out: for bits that select(2) does not report it would need an epoll set
 * (posix/epoll_edge.c), which Solaris lacks.
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

/* XPOLL_FILT_EMPTY is missing: the system does not report how much is left in a send buffer. */
const struct xp_source_ops xp_source_empty = XP_SOURCE_ABSENT(EMPTY, NULL);

/* XPOLL_FILT_PROC is missing: the system does not report the exit of a process. */
const struct xp_source_ops xp_source_proc = XP_SOURCE_ABSENT(PROC, proc_names);
