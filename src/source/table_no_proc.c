/* The sources of a system without a provider for processes, and for EMPTY. */
#include <stddef.h>

#include "source/source.h"

const struct xp_source_ops *const xp_sources[] = {
	&xp_source_user,
	&xp_source_timer,
	&xp_source_signal,
	&xp_source_vnode,
	&xp_source_aio,
	NULL,
};
