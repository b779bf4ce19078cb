/*
 * A hash table of registrations by (ident, filter), chained through the items.
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
	struct xp_regmap_item **buckets;
	size_t buckets_len; /* a power of two, or 0 */
	size_t count;
	size_t drained; /* the buckets before it are empty, while popping */
};

void xp_regmap_fini(struct xp_regmap *map); /* the items are the caller's */
struct xp_regmap_item *xp_regmap_find(const struct xp_regmap *map,
                                      uint64_t ident, int filter);

/* Room for so many items: then adding does not fail.  0 or -ENOMEM. */
int xp_regmap_reserve(struct xp_regmap *map, size_t count);
/* 0, or -ENOMEM and the map is as before.  No such item may be in it. */
int xp_regmap_add(struct xp_regmap *map, struct xp_regmap_item *item);
void xp_regmap_remove(struct xp_regmap *map, struct xp_regmap_item *item);

/* Take any item out, to empty the map with; NULL: it is empty. */
struct xp_regmap_item *xp_regmap_pop(struct xp_regmap *map);

#endif
