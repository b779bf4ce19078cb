/*
 * The hash table of registrations: see regmap.h.  An item's home slot is the one where the search
 * for the item begins (xp_regmap_home).
 */
#include "base/regmap.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"

struct xp_regmap_slot *xp_regmap_find_slot(const struct xp_regmap *map, uint64_t ident, int filter)
{
	uint64_t hash = xp_regmap_hash(ident, filter);
	size_t at = xp_regmap_home(map, hash);

	for (; map->slots[at].item; at = (at + 1) & (map->len - 1))
		if (map->slots[at].hash == hash && map->slots[at].item->ident == ident)
			return &map->slots[at];
	map->slots[at].hash = hash;
	return &map->slots[at];
}

void xp_regmap_fini(struct xp_regmap *map)
{
	xp_free(map->slots);
	*map = (struct xp_regmap){0};
}

struct xp_regmap_item *xp_regmap_find(const struct xp_regmap *map, uint64_t ident, int filter)
{
	return map->len ? xp_regmap_find_slot(map, ident, filter)->item : NULL;
}

XP_COLD int xp_regmap_grow(struct xp_regmap *map, size_t count)
{
	struct xp_regmap larger = {.shift = map->len ? map->shift + 1 : 63};

	do {
		larger.len = (size_t)1 << (64 - --larger.shift);
		larger.most = larger.len / 4 * 3;
	} while (larger.most < count);
	larger.slots = xp_zalloc(larger.len * sizeof *larger.slots);
	if (!larger.slots)
		/*
		 * Without memory for a larger table, fill this one beyond three quarters, except
		 * for one slot: a search for an item that is not in the table ends at a free slot.
		 */
		return count < map->len ? 0 : -ENOMEM;
	for (size_t i = 0; i < map->len; i++) {
		size_t at = xp_regmap_home(&larger, map->slots[i].hash);

		if (!map->slots[i].item)
			continue;
		while (larger.slots[at].item)
			at = (at + 1) & (larger.len - 1);
		larger.slots[at] = map->slots[i];
		larger.count++;
	}
	xp_free(map->slots);
	*map = larger;
	return 0;
}

int xp_regmap_add(struct xp_regmap *map, struct xp_regmap_item *item, int filter)
{
	int rc = xp_regmap_reserve(map, map->count + 1);

	XP_ASSERT(!xp_regmap_find(map, item->ident, filter));
	if (rc == 0)
		xp_regmap_put(map, xp_regmap_find_slot(map, item->ident, filter), item);
	return rc;
}

void xp_regmap_remove(struct xp_regmap *map, const struct xp_regmap_item *item, int filter)
{
	size_t free = (size_t)(xp_regmap_find_slot(map, item->ident, filter) - map->slots);
	size_t last = map->len - 1;

	XP_ASSERT(map->slots[free].item == item);
	/*
	 * A search ends at the first free slot, so a gap must not separate an item from its home
	 * slot, where its search begins.  So move items that follow into the gap, which moves the
	 * gap on; but skip an item whose home slot is between the gap and the item.
	 */
	for (size_t at = (free + 1) & last; map->slots[at].item; at = (at + 1) & last) {
		if (((at - xp_regmap_home(map, map->slots[at].hash)) & last) < ((at - free) & last))
			continue;
		map->slots[free] = map->slots[at];
		free = at;
	}
	map->slots[free].item = NULL;
	map->count--;
}

struct xp_regmap_item *xp_regmap_walk(const struct xp_regmap *map, size_t *at)
{
	while (*at < map->len && !map->slots[*at].item)
		++*at;
	return *at < map->len ? map->slots[(*at)++].item : NULL;
}
