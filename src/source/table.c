/* The sources of this build. */
#include "source/source.h"

#include <stddef.h>

static const struct xp_source_ops *const sources[] = {
	&xp_source_user,
};

const struct xp_source_ops *xp_source_find(int filter)
{
	for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
		if (sources[i]->filter == filter)
			return sources[i];
	return NULL;
}
