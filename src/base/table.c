/* Growing arrays: the capacity is doubled until it suffices. */
#include "base/table.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"

int xp_table_grow(void *table, int *len, int count, size_t size)
{
	size_t before = (size_t)*len * size;
	int most = *len ? *len : 1;
	char *items;

	XP_ASSERT(count > *len && size > 0);
	while (most < count)
		most *= 2;
	if ((size_t)most > SIZE_MAX / size)
		return -ENOMEM;
	/*
	 * Copy the pointer by memcpy: *table is a pointer of unknown type, and may not be accessed
	 * as a char *.
	 */
	memcpy(&items, table, sizeof items);
	items = xp_realloc(items, (size_t)most * size);
	if (!items)
		return -ENOMEM;
	memset(items + before, 0, (size_t)most * size - before);
	memcpy(table, &items, sizeof items);
	*len = most;
	return 0;
}
