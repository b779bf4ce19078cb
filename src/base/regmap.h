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

#include "base/compiler.h"

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
struct xp_regmap_item *xp_regmap_find_hashed(const struct xp_regmap *map,
                                             uint64_t hash, uint64_t ident,
                                             int filter);

#define XP_REGMAP_HIGH UINT64_C(0x0080808080808080)
#define XP_REGMAP_LOW  UINT64_C(0x007f7f7f7f7f7f7f)

/* The block where the items of this hash begin. */
static inline size_t xp_regmap_start(const struct xp_regmap *map, uint64_t hash)
{
	return (size_t)hash & (map->len - 1);
}

/* A slot's tag; 0 is a free one's. */
static inline uint64_t xp_regmap_tag(uint64_t hash)
{
	return hash >> 56 ? hash >> 56 : 1;
}

/* The highest bit of each of the seven bytes that are equal to the tag. */
static inline uint64_t xp_regmap_equal(uint64_t tags, uint64_t tag)
{
	uint64_t differ = tags ^ UINT64_C(0x0101010101010101) * tag;

	return ~(((differ & XP_REGMAP_LOW) + XP_REGMAP_LOW) | differ) &
		XP_REGMAP_HIGH;
}

/* The slot of the first of such bits. */
static inline unsigned xp_regmap_slot(uint64_t bits)
{
	return XP_LOWEST_BIT(bits) / 8;
}

/* Most likely the item of this hash, which is not read; NULL: it is not where it begins. */
static inline struct xp_regmap_item *xp_regmap_guess(const struct xp_regmap *map,
                                                     uint64_t hash)
{
	const struct xp_regmap_block *block;
	uint64_t found;

	if (!map->len)
		return NULL;
	block = &map->blocks[xp_regmap_start(map, hash)];
	found = xp_regmap_equal(block->tags, xp_regmap_tag(hash));
	return found ? block->items[xp_regmap_slot(found)] : NULL;
}

/* A quick answer: surely nothing with this hash is in the map. */
static inline bool xp_regmap_lacks(const struct xp_regmap *map, uint64_t hash)
{
	uint64_t tags;

	if (!map->len)
		return true;
	tags = map->blocks[xp_regmap_start(map, hash)].tags;
	return !xp_regmap_equal(tags, xp_regmap_tag(hash)) && !(tags >> 56);
}

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
