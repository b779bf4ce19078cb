/*
 * A hash table of registrations by (ident, filter): linear probing, as in Knuth, 6.4.
 *
 * The hashes and filters lie beside the pointers, so that a look reads the item that is wanted,
 * and no other.  The table grows when an item is added and never when one is looked up or removed.
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
	size_t count, most; /* items, and how many there is room for */
};

void xp_regmap_fini(struct xp_regmap *map); /* the items are the caller's */
struct xp_regmap_item *xp_regmap_find(const struct xp_regmap *map, uint64_t ident, int filter);
/*
 * The upper half of the key is folded into the lower one, on all bits of which the upper
 * half of the product depends.
 */
static inline uint32_t xp_regmap_hash(uint64_t ident, int filter)
{
	uint64_t key = ident ^ (uint64_t)(unsigned)filter << 48;

	return (uint32_t)((key ^ key >> 32) * 0x9e3779b97f4a7c15u >> 32);
}
/* Prefetch the place where a look for this item begins; the table was not always empty. */
static inline void xp_regmap_prefetch(const struct xp_regmap *map, uint64_t ident, int filter)
{
	xp_prefetch(&map->slots[xp_regmap_hash(ident, filter) & (map->len - 1)]);
}
/* The same item, or another one with the same hash; NULL: there is none.  No item is read. */
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
/* Have room for so many items: adding them does not fail.  0 or -ENOMEM. */
static inline int xp_regmap_reserve(struct xp_regmap *map, size_t count)
{
	return XP_LIKELY(count <= map->most) ? 0 : xp_regmap_grow(map, count);
}
/*
 * The slot of an item, or the free one for it; valid until the table is changed.  There must be
 * room for one more.
 */
struct xp_regmap_slot *xp_regmap_look(const struct xp_regmap *map, uint64_t ident, int filter);
/* Put the item into the slot that a look for it has returned. */
void xp_regmap_put(struct xp_regmap *map, struct xp_regmap_slot *slot, struct xp_regmap_item *item,
                   int filter);
/* There must be no such item.  0 or -ENOMEM. */
int xp_regmap_add(struct xp_regmap *map, struct xp_regmap_item *item, int filter);
void xp_regmap_remove(struct xp_regmap *map, const struct xp_regmap_item *item, int filter);

/* The first item from slot *at on, which becomes the one behind it; NULL: there are no more. */
struct xp_regmap_item *xp_regmap_walk(const struct xp_regmap *map, size_t *at);

#endif
