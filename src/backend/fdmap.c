/* The table of the array back ends; doubles as numbers grow. */
#include "backend/fdmap.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"

int xp_fdmap_reserve(struct xp_fdmap *map, int fd)
{
	struct xp_fdmap_entry *entries;
	int len = map->len < 64 ? 64 : map->len;

	if (fd < map->len)
		return 0;
	while (len <= fd)
		len = len > INT32_MAX / 2 ? INT32_MAX : len * 2;
	entries = xp_realloc(map->entries, (size_t)len * sizeof *entries);
	if (!entries)
		return -ENOMEM;
	memset(entries + map->len, 0,
	       (size_t)(len - map->len) * sizeof *entries);
	map->entries = entries;
	map->len = len;
	return 0;
}

void xp_fdmap_fini(struct xp_fdmap *map)
{
	xp_free(map->entries);
	map->entries = NULL;
	map->len = 0;
}
