/*
 * A hash table of registrations by (ident, filter), with linear probing (Knuth, The Art of Computer
 * Programming, 6.4).
 *
 * Each slot holds the hash next to the pointer, so a search reads only items that have the hash.
 * The table grows when room is made or an item is added, never when an item is searched or removed.
 */
#ifndef XP_BASE_REGMAP_H
#define XP_BASE_REGMAP_H

#include <stdint.h>

#include "base/compiler.h"

/* The part of an item, such as a registration, that the table uses. */
struct xp_regmap_item {
	uint64_t ident;
};

struct xp_regmap {
	struct xp_regmap_slot {
		uint64_t hash;
		struct xp_regmap_item *item; /* NULL: the slot is free */
	} *slots;
	size_t len; /* number of slots: a power of two, or 0 before the first item */
	unsigned shift; /* 64 minus the binary logarithm of len */
	size_t count, most; /* number of items, and how many fit before the table grows */
};

void xp_regmap_fini(struct xp_regmap *map); /* frees the slots; the items belong to the caller */
/*
 * Returns the item with this ident and filter; NULL: there is none.  Needs the lock, because it
 * writes to a free slot (xp_regmap_find_slot).
 */
struct xp_regmap_item *xp_regmap_find(const struct xp_regmap *map, uint64_t ident, int filter);
/*
 * Returns the hash of an ident and a filter.  Both steps, the shift and the multiplication by an
 * odd number, can be undone, so equal hashes come from equal values of `key`: items with the same
 * hash and the same ident have the same filter, because filters have 16 bits.  Without the shift,
 * idents in steps such as 576, like addresses of structures, would have home slots close together.
 */
static inline uint64_t xp_regmap_hash(uint64_t ident, int filter)
{
	uint64_t key = ident ^ (uint64_t)(unsigned)filter << 48;

	return (key ^ key >> 7) * 0x9e3779b97f4a7c15u;
}
/*
 * Returns the index of the home slot of items with this hash, where the search for them begins.  It
 * is the highest bits of the hash, because these depend on all bits of ident and filter.  The table
 * must have slots (map->len > 0).
 */
static inline size_t xp_regmap_home(const struct xp_regmap *map, uint64_t hash)
{
	return (size_t)(hash >> map->shift);
}
/*
 * Returns the item, or another one with the same hash, because this search reads no ident; NULL: no
 * item has the hash.  The table must have slots.
 */
static inline struct xp_regmap_item *xp_regmap_find_by_hash(const struct xp_regmap *map,
                                                            uint64_t ident, int filter)
{
	uint64_t hash = xp_regmap_hash(ident, filter);
	size_t at = xp_regmap_home(map, hash);

	while (map->slots[at].item && map->slots[at].hash != hash)
		at = (at + 1) & (map->len - 1);
	return map->slots[at].item;
}
/* The slow path of xp_regmap_reserve, which allocates. */
int xp_regmap_grow(struct xp_regmap *map, size_t count);
/*
 * Make room for this number of items in all, so that adding them cannot fail.  Returns 0 or
 * -ENOMEM.
 */
static inline int xp_regmap_reserve(struct xp_regmap *map, size_t count)
{
	return XP_LIKELY(count <= map->most) ? 0 : xp_regmap_grow(map, count);
}
/*
 * Returns the slot of an item, or, if the item is not in the table, a free slot to pass to
 * xp_regmap_put, in which the item's hash is stored already.  The pointer is valid until the table
 * changes.  The table must have slots.
 */
struct xp_regmap_slot *xp_regmap_find_slot(const struct xp_regmap *map, uint64_t ident, int filter);
/*
 * Store a new item in the slot that xp_regmap_find_slot has returned.  There must be room for it.
 */
static inline void xp_regmap_put(struct xp_regmap *map, struct xp_regmap_slot *slot,
                                 struct xp_regmap_item *item)
{
	slot->item = item;
	map->count++;
}
/* Add an item, which must not be in the table.  Returns 0 or -ENOMEM. */
int xp_regmap_add(struct xp_regmap *map, struct xp_regmap_item *item, int filter);
/* Remove an item, which must be in the table; allocates nothing, and cannot fail. */
void xp_regmap_remove(struct xp_regmap *map, const struct xp_regmap_item *item, int filter);

/*
 * Returns the first item in slot *at or a later one, and sets *at to the index after its slot;
 * NULL: there are no more items.  The caller sets *at to 0 before the first call.
 */
struct xp_regmap_item *xp_regmap_walk(const struct xp_regmap *map, size_t *at);

#endif
