/* The table of the sources. */
#include <stddef.h>

#include "source/source.h"

#define TABLE_ENTRY(upper, lower) &xp_source_##lower,

const struct xp_source_ops *const xp_sources[] = {
	XP_SOURCE_LIST(TABLE_ENTRY)
	NULL,
};

const struct xp_source_ops *xp_source_find(int filter)
{
	for (size_t i = 0; xp_sources[i]; i++)
		if (xp_sources[i]->filter == filter)
			return xp_sources[i];
	return NULL;
}
