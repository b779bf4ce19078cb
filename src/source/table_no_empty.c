/* All sources but EMPTY: this system does not say what is left in a buffer. */
#include <stddef.h>

#include "source/source.h"

const struct xp_source_ops *const xp_sources[] = {
	&xp_source_user,
	&xp_source_timer,
	&xp_source_signal,
	&xp_source_vnode,
	&xp_source_proc,
	&xp_source_aio,
	NULL,
};
