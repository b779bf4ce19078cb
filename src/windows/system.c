/* The back end of Windows, and the source it lacks. */
#include "sys/system.h"

#include <stddef.h>

#include "source/source.h"
#include "windows/system.h"

const struct xp_system xp_system = {
	.backends = {&xp_backend_afd},
};

/* XPOLL_FILT_EMPTY is missing: the system does not report how much is left in a send buffer. */
const struct xp_source_ops xp_source_empty = XP_SOURCE_ABSENT(EMPTY, NULL);
