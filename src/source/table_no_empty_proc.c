/* All sources but EMPTY and PROC, which have no provider on this system. */
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
