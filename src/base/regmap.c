/* The hash table of registrations. */
#include "base/regmap.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/compiler.h"

/*
 * The upper half of the key is folded into the lower one, on all bits of which the upper
 * half of the product depends.
 */
static uint64_t regmap_hash(uint64_t ident, int filter)
{
	uint64_t key = ident ^ (uint64_t)(unsigned)filter << 48;

	return (key ^ key >> 32) * 0x9e3779b97f4a7c15u >> 32;
}

/* The slot of an item that is there, or of the first free one behind its place. */
static size_t regmap_look(const struct xp_regmap *map, uint64_t ident, int filter)
{
	uint64_t hash = regmap_hash(ident, filter);
	size_t at = (size_t)hash & (map->len - 1);

	for (; map->slots[at].item; at = (at + 1) & (map->len - 1))
		if (map->slots[at].hash == hash && map->slots[at].item->ident == ident &&
		    map->slots[at].item->filter == filter)
			break;
	return at;
}

void xp_regmap_prefetch(const struct xp_regmap *map, uint64_t ident, int filter)
{
	if (map->len)
		xp_prefetch(&map->slots[regmap_hash(ident, filter) & (map->len - 1)]);
}

struct xp_regmap_item *xp_regmap_guess(const struct xp_regmap *map, uint64_t ident, int filter)
{
	uint64_t hash = regmap_hash(ident, filter);
	size_t at = (size_t)hash & (map->len - 1);

	if (!map->len)
		return NULL;
	while (map->slots[at].item && map->slots[at].hash != hash)
		at = (at + 1) & (map->len - 1);
	return map->slots[at].item;
}

static void regmap_put(struct xp_regmap *map, struct xp_regmap_slot slot)
{
	size_t at = (size_t)slot.hash & (map->len - 1);

	while (map->slots[at].item)
		at = (at + 1) & (map->len - 1);
	map->slots[at] = slot;
	map->count++;
}

void xp_regmap_fini(struct xp_regmap *map)
{
	xp_free(map->slots);
	*map = (struct xp_regmap){0};
}

struct xp_regmap_item *xp_regmap_find(const struct xp_regmap *map, uint64_t ident, int filter)
{
	return map->len ? map->slots[regmap_look(map, ident, filter)].item : NULL;
}

int xp_regmap_reserve(struct xp_regmap *map, size_t count)
{
	struct xp_regmap larger = {.len = map->len ? map->len : 1};

	while (larger.len / 4 * 3 < count)
		larger.len *= 2;
	if (larger.len == map->len)
		return 0;
	larger.slots = xp_alloc(larger.len * sizeof *larger.slots);
	if (!larger.slots)
		return count < map->len ? 0 : -ENOMEM; /* one stays free, where a look ends */
	for (size_t i = 0; i < map->len; i++)
		if (map->slots[i].item)
			regmap_put(&larger, map->slots[i]);
	xp_free(map->slots);
	*map = larger;
	return 0;
}

int xp_regmap_add(struct xp_regmap *map, struct xp_regmap_item *item)
{
	int rc = xp_regmap_reserve(map, map->count + 1);

	XP_ASSERT(!xp_regmap_find(map, item->ident, item->filter));
	map->drained = 0;
	if (rc == 0)
		regmap_put(map, (struct xp_regmap_slot){
			.hash = regmap_hash(item->ident, item->filter),
			.item = item,
		});
	return rc;
}

void xp_regmap_remove(struct xp_regmap *map, struct xp_regmap_item *item)
{
	size_t free = regmap_look(map, item->ident, item->filter), last = map->len - 1;

	XP_ASSERT(map->slots[free].item == item);
	/* Items behind it that had to move on move back, if their place is not behind the gap. */
	for (size_t at = (free + 1) & last; map->slots[at].item; at = (at + 1) & last) {
		if (((at - (size_t)map->slots[at].hash) & last) < ((at - free) & last))
			continue;
		map->slots[free] = map->slots[at];
		free = at;
	}
	map->slots[free].item = NULL;
	map->count--;
}

struct xp_regmap_item *xp_regmap_pop(struct xp_regmap *map)
{
	for (; map->drained < map->len; map->drained++) {
		struct xp_regmap_item *item = map->slots[map->drained].item;

		if (item) {
			xp_regmap_remove(map, item);
			return item;
		}
	}
	return NULL;
}

struct xp_regmap_item *xp_regmap_walk(const struct xp_regmap *map, size_t *at)
{
	while (*at < map->len && !map->slots[*at].item)
		++*at;
	return *at < map->len ? map->slots[(*at)++].item : NULL;
}
