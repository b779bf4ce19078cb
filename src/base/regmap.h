/*
 * A hash table of registrations by (ident, filter): linear probing, as in Knuth, 6.4.
 *
 * The hashes and filters are beside the pointers, so that a search reads only the item that it
 * finds.  The table grows when an item is added, never when one is looked up or removed.
 */
#ifndef XP_BASE_REGMAP_H
#define XP_BASE_REGMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct xp_regmap_item {
	uint64_t ident;
};

struct xp_regmap {
	struct xp_regmap_slot {
		uint32_t hash;
		int filter;
		struct xp_regmap_item *item; /* NULL: the slot is free */
	} *slots;
	size_t len; /* slots: a power of two, or 0 */
	size_t count, most; /* number of items, and capacity */
};

void xp_regmap_fini(struct xp_regmap *map); /* the items are the caller's */
struct xp_regmap_item *xp_regmap_find(const struct xp_regmap *map, uint64_t ident, int filter);
/*
 * The upper half of the key is folded into the lower half, because the upper half of the product
 * depends on all bits of the latter.
 */
static inline uint32_t xp_regmap_hash(uint64_t ident, int filter)
{
	uint64_t key = ident ^ (uint64_t)(unsigned)filter << 48;

	return (uint32_t)((key ^ key >> 32) * 0x9e3779b97f4a7c15u >> 32);
}
/* Prefetch the slot where the search for this item begins; the table must have been used. */
static inline void xp_regmap_prefetch(const struct xp_regmap *map, uint64_t ident, int filter)
{
	xp_prefetch(&map->slots[xp_regmap_hash(ident, filter) & (map->len - 1)]);
}
/* Returns the item, or another one with the same hash, without reading it; NULL: there is none. */
static inline struct xp_regmap_item *xp_regmap_guess(const struct xp_regmap *map, uint64_t ident,
                                                     int filter)
{
	uint32_t hash = xp_regmap_hash(ident, filter);
	size_t at = (size_t)hash & (map->len - 1);

	while (map->slots[at].item && map->slots[at].hash != hash)
		at = (at + 1) & (map->len - 1);
	return map->slots[at].item;
}
int xp_regmap_grow(struct xp_regmap *map, size_t count);
/* Make room for this number of items, so that adding them cannot fail.  Returns 0 or -ENOMEM. */
static inline int xp_regmap_reserve(struct xp_regmap *map, size_t count)
{
	return XP_LIKELY(count <= map->most) ? 0 : xp_regmap_grow(map, count);
}
/*
 * Returns the slot of an item, or the free one for it; valid until the table changes.  There must
 * be room for one more.
 */
struct xp_regmap_slot *xp_regmap_look(const struct xp_regmap *map, uint64_t ident, int filter);
/* Store the item in the slot that xp_regmap_look has returned. */
void xp_regmap_put(struct xp_regmap *map, struct xp_regmap_slot *slot, struct xp_regmap_item *item,
                   int filter);
/* Add an item, which must not be in the table.  Returns 0 or -ENOMEM. */
int xp_regmap_add(struct xp_regmap *map, struct xp_regmap_item *item, int filter);
void xp_regmap_remove(struct xp_regmap *map, const struct xp_regmap_item *item, int filter);

/* Returns the first item from slot *at on, and advances *at beyond it; NULL: there are no more. */
struct xp_regmap_item *xp_regmap_walk(const struct xp_regmap *map, size_t *at);

#endif
