/* The sources of a system without signals, or without a provider for more. */
#include <stddef.h>

#include "source/source.h"

const struct xp_source_ops *const xp_sources[] = {
	&xp_source_user,
	&xp_source_timer,
	NULL,
};

const struct xp_source_ops *xp_source_find(int filter)
{
	for (size_t i = 0; xp_sources[i]; i++)
		if (xp_sources[i]->filter == filter)
			return xp_sources[i];
	return NULL;
}
