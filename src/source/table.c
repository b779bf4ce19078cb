/* The tables of all sources, made from XP_SOURCE_LIST. */
#include <stddef.h>

#include "source/source.h"

#define TABLE_ENTRY(upper, lower) &xp_source_##lower,

const struct xp_source_ops *const xp_sources[] = {
	XP_SOURCE_LIST(TABLE_ENTRY)
	NULL,
};

#define TABLE_FILTER(upper, lower) [-XPOLL_FILT_##upper] = &xp_source_##lower,

const struct xp_source_ops *const xp_source_by_filter[] = {
	XP_SOURCE_LIST(TABLE_FILTER)
};

const struct xp_source_ops *xp_source_find(int filter)
{
	unsigned number = 0u - (unsigned)filter;

	return number < sizeof xp_source_by_filter / sizeof *xp_source_by_filter
		? xp_source_by_filter[number] : NULL;
}
