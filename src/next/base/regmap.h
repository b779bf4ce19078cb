/*
 * A hash table of registrations by (ident, filter), with chains.
 *
 * It grows when an item is added and never when one is looked up or removed.
 */
#ifndef XP_BASE_REGMAP_H
#define XP_BASE_REGMAP_H

#include <stddef.h>
#include <stdint.h>

struct xp_regmap_item {
	struct xp_regmap_item *next;
	uint64_t ident;
	int filter;
};

struct xp_regmap {
	struct xp_regmap_item **chains;
	size_t len; /* chains: a power of two, or 0 */
	size_t count;
	size_t drained; /* the chains before it are empty, while popping */
};

void xp_regmap_fini(struct xp_regmap *map); /* the items are the caller's */
struct xp_regmap_item *xp_regmap_find(const struct xp_regmap *map, uint64_t ident, int filter);
/* Have room for so many items: adding them does not fail.  0 or -ENOMEM. */
int xp_regmap_reserve(struct xp_regmap *map, size_t count);
/* There must be no such item.  0 or -ENOMEM. */
int xp_regmap_add(struct xp_regmap *map, struct xp_regmap_item *item);
void xp_regmap_remove(struct xp_regmap *map, struct xp_regmap_item *item);
/* Any item, removed; NULL: there is none. */
struct xp_regmap_item *xp_regmap_pop(struct xp_regmap *map);

/* For a walk over all: the first item for NULL, or the one behind this; NULL: the last was it. */
struct xp_regmap_item *xp_regmap_walk(const struct xp_regmap *map,
                                      const struct xp_regmap_item *item);

#endif
