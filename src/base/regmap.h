/*
 * A hash table of registrations by (ident, filter): linear probing, as in Knuth, 6.4.
 *
 * The hashes lie beside the pointers, so that a look reads the item that is wanted, and no
 * other.  The table grows when an item is added and never when one is looked up or removed.
 */
#ifndef XP_BASE_REGMAP_H
#define XP_BASE_REGMAP_H

#include <stddef.h>
#include <stdint.h>

struct xp_regmap_item {
	uint64_t ident;
	int filter;
	uint32_t place; /* the owner's */
};

struct xp_regmap {
	struct xp_regmap_slot {
		uint64_t hash;
		struct xp_regmap_item *item; /* NULL: the slot is free */
	} *slots;
	size_t len; /* slots: a power of two, or 0 */
	size_t count;
	size_t drained; /* the slots before it are free, while popping */
};

void xp_regmap_fini(struct xp_regmap *map); /* the items are the caller's */
struct xp_regmap_item *xp_regmap_find(const struct xp_regmap *map, uint64_t ident, int filter);
/* Prefetch the place where a look for this item begins. */
void xp_regmap_prefetch(const struct xp_regmap *map, uint64_t ident, int filter);
/* The same item, or another one with the same hash; NULL: there is none.  No item is read. */
struct xp_regmap_item *xp_regmap_guess(const struct xp_regmap *map, uint64_t ident, int filter);
/* Have room for so many items: adding them does not fail.  0 or -ENOMEM. */
int xp_regmap_reserve(struct xp_regmap *map, size_t count);
/* There must be no such item.  0 or -ENOMEM. */
int xp_regmap_add(struct xp_regmap *map, struct xp_regmap_item *item);
void xp_regmap_remove(struct xp_regmap *map, struct xp_regmap_item *item);
/* Any item, removed; NULL: there is none. */
struct xp_regmap_item *xp_regmap_pop(struct xp_regmap *map);

/* The first item from slot *at on, which becomes the one behind it; NULL: there are no more. */
struct xp_regmap_item *xp_regmap_walk(const struct xp_regmap *map, size_t *at);

#endif
