/* The hash table of registrations. */
#include "base/regmap.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"

enum { REGMAP_LEAST = 16 };

/* All bits of both have a part in it. */
static size_t regmap_index(const struct xp_regmap *map, uint64_t ident, int filter)
{
	uint64_t key = ident ^ (uint64_t)(unsigned)filter << 48;

	return (size_t)((key ^ key >> 32) * 0x9e3779b97f4a7c15u >> 32) & (map->len - 1);
}

static struct xp_regmap_item **regmap_chain(const struct xp_regmap *map,
                                            const struct xp_regmap_item *item)
{
	return &map->chains[regmap_index(map, item->ident, item->filter)];
}

static void regmap_put(struct xp_regmap *map, struct xp_regmap_item *item)
{
	struct xp_regmap_item **chain = regmap_chain(map, item);

	item->next = *chain;
	*chain = item;
	map->count++;
}

void xp_regmap_fini(struct xp_regmap *map)
{
	xp_free(map->chains);
	*map = (struct xp_regmap){0};
}

struct xp_regmap_item *xp_regmap_find(const struct xp_regmap *map, uint64_t ident, int filter)
{
	struct xp_regmap_item *item =
		map->len ? map->chains[regmap_index(map, ident, filter)] : NULL;

	while (item && (item->ident != ident || item->filter != filter))
		item = item->next;
	return item;
}

int xp_regmap_reserve(struct xp_regmap *map, size_t count)
{
	struct xp_regmap larger = {.len = map->len ? map->len : REGMAP_LEAST};
	struct xp_regmap_item *item;

	while (larger.len < count)
		larger.len *= 2;
	if (larger.len == map->len)
		return 0;
	larger.chains = xp_alloc(larger.len * sizeof(struct xp_regmap_item *));
	if (!larger.chains)
		return map->len ? 0 : -ENOMEM; /* longer chains hold them as well */
	while ((item = xp_regmap_pop(map)))
		regmap_put(&larger, item);
	xp_free(map->chains);
	*map = larger;
	return 0;
}

int xp_regmap_add(struct xp_regmap *map, struct xp_regmap_item *item)
{
	int rc = xp_regmap_reserve(map, map->count + 1);

	XP_ASSERT(!xp_regmap_find(map, item->ident, item->filter));
	map->drained = 0;
	if (rc == 0)
		regmap_put(map, item);
	return rc;
}

void xp_regmap_remove(struct xp_regmap *map, struct xp_regmap_item *item)
{
	struct xp_regmap_item **at = regmap_chain(map, item);

	while (*at != item)
		at = &(*at)->next;
	*at = item->next;
	map->count--;
}

struct xp_regmap_item *xp_regmap_pop(struct xp_regmap *map)
{
	struct xp_regmap_item *item;

	for (; map->drained < map->len; map->drained++) {
		item = map->chains[map->drained];
		if (item) {
			xp_regmap_remove(map, item);
			return item;
		}
	}
	return NULL;
}

struct xp_regmap_item *xp_regmap_walk(const struct xp_regmap *map,
                                      const struct xp_regmap_item *item)
{
	size_t index = item ? regmap_index(map, item->ident, item->filter) + 1 : 0;

	if (item && item->next)
		return item->next;
	while (index < map->len && !map->chains[index])
		index++;
	return index < map->len ? map->chains[index] : NULL;
}
