/* The sources of a system that has all of them. */
#include "source/source.h"

#include <stddef.h>

const struct xp_source_ops *const xp_sources[] = {
	&xp_source_user,
	&xp_source_timer,
	&xp_source_signal,
	&xp_source_vnode,
	&xp_source_proc,
	&xp_source_aio,
	&xp_source_empty,
	NULL,
};
