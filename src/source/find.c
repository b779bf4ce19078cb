/* The source of a filter, in whichever table this build has. */
#include "source/source.h"

#include <stddef.h>

const struct xp_source_ops *xp_source_find(int filter)
{
	for (size_t i = 0; xp_sources[i]; i++)
		if (xp_sources[i]->filter == filter)
			return xp_sources[i];
	return NULL;
}
