/*
 * A hash table of registrations by (ident, filter).
 *
 * A block is a cache line: seven items, a byte of each one's hash, and how
 * many items had to move on because the block was full.  So a look reads one
 * line of the table and the item that is wanted, whatever the number of items;
 * and removing one leaves all others where they are.
 *
 * It grows when an item is added and never when one is looked up or removed.
 */
#ifndef XP_BASE_REGMAP_H
#define XP_BASE_REGMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xp_regmap_item {
	uint64_t ident;
	int filter;
	uint32_t number; /* the owner's, for what it likes */
};

enum { XP_REGMAP_SLOTS = 7 };

struct xp_regmap_block {
	/* From the lowest byte on: each slot's tag, 0: free; then the passed. */
	uint64_t tags;
	struct xp_regmap_item *items[XP_REGMAP_SLOTS];
};

struct xp_regmap {
	struct xp_regmap_block *blocks; /* begins a cache line */
	void *memory;
	size_t len; /* blocks: a power of two, or 0 */
	size_t count;
	size_t most; /* items until it grows */
	size_t drained; /* the blocks before it are empty, while popping */
};

void xp_regmap_fini(struct xp_regmap *map); /* the items are the caller's */
struct xp_regmap_item *xp_regmap_find(const struct xp_regmap *map,
                                      uint64_t ident, int filter);

/* The same in steps, for who looks for several. */
uint64_t xp_regmap_hash(uint64_t ident, int filter);
void xp_regmap_prefetch_table(const struct xp_regmap *map, uint64_t hash);
void xp_regmap_prefetch_item(const struct xp_regmap *map, uint64_t hash);
struct xp_regmap_item *xp_regmap_find_hashed(const struct xp_regmap *map,
                                             uint64_t hash, uint64_t ident,
                                             int filter);
/* A quick answer: surely nothing with this hash is in the map. */
bool xp_regmap_lacks(const struct xp_regmap *map, uint64_t hash);

/* Room for so many items: then adding does not fail.  0 or -ENOMEM. */
int xp_regmap_reserve(struct xp_regmap *map, size_t count);
/* 0, or -ENOMEM and the map is as before.  No such item may be in it. */
int xp_regmap_add(struct xp_regmap *map, struct xp_regmap_item *item);
int xp_regmap_add_hashed(struct xp_regmap *map, uint64_t hash,
                         struct xp_regmap_item *item);
void xp_regmap_remove(struct xp_regmap *map, struct xp_regmap_item *item);

/* Take any item out, to empty the map with; NULL: it is empty. */
struct xp_regmap_item *xp_regmap_pop(struct xp_regmap *map);

#endif
