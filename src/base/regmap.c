/* The hash table of registrations; multiplicative hashing (Knuth, 6.4). */
#include "base/regmap.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"

static size_t bucket_of(const struct xp_regmap *map, uint64_t ident, int filter)
{
	uint64_t hash = (ident ^ (uint64_t)(unsigned)filter << 48) *
		0x9e3779b97f4a7c15u;

	return (size_t)(hash >> 32) & (map->buckets_len - 1);
}

void xp_regmap_fini(struct xp_regmap *map)
{
	xp_free(map->buckets);
	map->buckets = NULL;
	map->buckets_len = 0;
}

struct xp_regmap_item *xp_regmap_find(const struct xp_regmap *map,
                                      uint64_t ident, int filter)
{
	struct xp_regmap_item *item;

	if (map->count == 0)
		return NULL;
	item = map->buckets[bucket_of(map, ident, filter)];
	while (item && (item->ident != ident || item->filter != filter))
		item = item->next;
	return item;
}

static void regmap_link(struct xp_regmap *map, struct xp_regmap_item *item)
{
	size_t bucket = bucket_of(map, item->ident, item->filter);

	item->next = map->buckets[bucket];
	map->buckets[bucket] = item;
}

static int regmap_grow(struct xp_regmap *map)
{
	struct xp_regmap old = *map;
	size_t len = old.buckets_len ? old.buckets_len * 2 : 16;
	struct xp_regmap_item **buckets = xp_alloc(len * sizeof *buckets);

	if (!buckets)
		return -ENOMEM;
	map->buckets = buckets;
	map->buckets_len = len;
	for (size_t i = 0; i < old.buckets_len; i++) {
		struct xp_regmap_item *item = old.buckets[i];

		while (item) {
			struct xp_regmap_item *next = item->next;

			regmap_link(map, item);
			item = next;
		}
	}
	xp_free(old.buckets);
	return 0;
}

int xp_regmap_reserve(struct xp_regmap *map, size_t count)
{
	int rc = 0;

	while (rc == 0 && map->buckets_len < count)
		rc = regmap_grow(map);
	return rc;
}

int xp_regmap_add(struct xp_regmap *map, struct xp_regmap_item *item)
{
	int rc = xp_regmap_reserve(map, map->count + 1);

	XP_ASSERT(!xp_regmap_find(map, item->ident, item->filter));
	if (rc < 0)
		return rc;
	regmap_link(map, item);
	map->drained = 0;
	map->count++;
	return 0;
}

void xp_regmap_remove(struct xp_regmap *map, struct xp_regmap_item *item)
{
	struct xp_regmap_item **link =
		&map->buckets[bucket_of(map, item->ident, item->filter)];

	while (*link != item) {
		XP_ASSERT(*link);
		link = &(*link)->next;
	}
	*link = item->next;
	map->count--;
}

struct xp_regmap_item *xp_regmap_pop(struct xp_regmap *map)
{
	struct xp_regmap_item *item = NULL;

	if (map->count == 0)
		return NULL;
	while (!map->buckets[map->drained])
		map->drained++;
	item = map->buckets[map->drained];
	map->buckets[map->drained] = item->next;
	map->count--;
	return item;
}
