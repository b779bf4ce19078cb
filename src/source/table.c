/* The table of the sources. */
#include <stddef.h>

#include "source/source.h"

#define TABLE_ENTRY(upper, lower) &xp_source_##lower,

const struct xp_source_ops *const xp_sources[] = {
	XP_SOURCE_LIST(TABLE_ENTRY)
	NULL,
};

#define TABLE_FILTER(upper, lower) [-XPOLL_FILT_##upper] = &xp_source_##lower,

/* By the number of the filter, which is negative. */
static const struct xp_source_ops *const by_filter[] = {
	XP_SOURCE_LIST(TABLE_FILTER)
};

const struct xp_source_ops *xp_source_find(int filter)
{
	unsigned number = 0u - (unsigned)filter;

	return number < sizeof by_filter / sizeof *by_filter ? by_filter[number] : NULL;
}
