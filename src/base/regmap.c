/* The hash table of registrations. */
#include "base/regmap.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/compiler.h"

enum {
	REGMAP_LEAST = 4,
	/* Blocks ahead whose items are fetched when all are visited. */
	REGMAP_AHEAD = 4,
};

#define TAGS_PASSED (UINT64_C(1) << 56)
#define PASSED_MOST UINT64_C(255)

_Static_assert(sizeof(struct xp_regmap_block) <= XP_CACHE_LINE,
               "a block is a cache line");

/* All bits of both have a part in all of its bits. */
uint64_t xp_regmap_hash(uint64_t ident, int filter)
{
	uint64_t hash = ident ^ (uint64_t)(unsigned)filter << 48;

	hash *= 0x9e3779b97f4a7c15u;
	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93u;
	return hash ^ hash >> 32;
}

static size_t regmap_next(const struct xp_regmap *map, size_t block)
{
	return (block + 1) & (map->len - 1);
}

static uint64_t tags_passed(const struct xp_regmap_block *block)
{
	return block->tags >> 56;
}

void xp_regmap_fini(struct xp_regmap *map)
{
	xp_free(map->blocks);
	*map = (struct xp_regmap){0};
}

static uint64_t item_hash(const struct xp_regmap_item *item)
{
	return xp_regmap_hash(item->ident, item->filter);
}

struct xp_regmap_item *xp_regmap_find(const struct xp_regmap *map,
                                      uint64_t ident, int filter)
{
	return xp_regmap_find_hashed(map, xp_regmap_hash(ident, filter), ident,
	                             filter);
}

struct xp_regmap_item *xp_regmap_find_hashed(const struct xp_regmap *map,
                                             uint64_t hash, uint64_t ident,
                                             int filter)
{
	size_t at = xp_regmap_start(map, hash);

	/*
	 * Bounded by all blocks: where very many have passed nobody counts them
	 * any more.
	 */
	for (size_t i = 0; i < map->len; i++, at = regmap_next(map, at)) {
		const struct xp_regmap_block *block = &map->blocks[at];
		uint64_t found = xp_regmap_equal(block->tags, xp_regmap_tag(hash));

		for (; found; found &= found - 1) {
			struct xp_regmap_item *item =
				block->items[xp_regmap_slot(found)];

			if (item->ident == ident && item->filter == filter)
				return item;
		}
		if (!tags_passed(block))
			break;
	}
	return NULL;
}

void xp_regmap_prefetch_table(const struct xp_regmap *map, uint64_t hash)
{
	if (map->len)
		xp_prefetch(&map->blocks[xp_regmap_start(map, hash)]);
}

/* All of a block. */
static void regmap_prefetch_block(const struct xp_regmap *map, size_t at)
{
	if (at < map->len)
		for (int slot = 0; slot < XP_REGMAP_SLOTS; slot++)
			xp_prefetch(map->blocks[at].items[slot]);
}

static XP_INLINE void regmap_put(struct xp_regmap *map, uint64_t hash,
                       struct xp_regmap_item *item)
{
	size_t at = xp_regmap_start(map, hash);
	struct xp_regmap_block *block = &map->blocks[at];
	uint64_t vacant;
	unsigned slot;

	while (XP_UNLIKELY(!(vacant = xp_regmap_equal(block->tags, 0)))) {
		if (tags_passed(block) < PASSED_MOST)
			block->tags += TAGS_PASSED;
		at = regmap_next(map, at);
		block = &map->blocks[at];
	}
	slot = xp_regmap_slot(vacant);
	block->tags |= xp_regmap_tag(hash) << slot * 8;
	block->items[slot] = item;
}

/* A table of so many blocks, all free; what is in the map is left out. */
static int regmap_make(struct xp_regmap *map, size_t len)
{
	struct xp_regmap_block *blocks = xp_alloc_lines(len * sizeof *blocks);

	if (!blocks)
		return -ENOMEM;
	map->blocks = memset(blocks, 0, len * sizeof *blocks);
	map->len = len;
	/* Five and a half in a block, on the average. */
	map->most = len * 5 + len / 2;
	return 0;
}

static int regmap_grow(struct xp_regmap *map, size_t len)
{
	struct xp_regmap old = *map;
	int rc = regmap_make(map, len);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < old.len; i++) {
		regmap_prefetch_block(&old, i + REGMAP_AHEAD);
		for (int slot = 0; slot < XP_REGMAP_SLOTS; slot++) {
			struct xp_regmap_item *item = old.blocks[i].items[slot];

			if (item)
				regmap_put(map, item_hash(item), item);
		}
	}
	xp_free(old.blocks);
	return 0;
}

int xp_regmap_reserve(struct xp_regmap *map, size_t count)
{
	int rc = 0;

	while (rc == 0 && map->most < count)
		rc = regmap_grow(map, map->len ? 2 * map->len : REGMAP_LEAST);
	return rc;
}

int xp_regmap_add(struct xp_regmap *map, struct xp_regmap_item *item)
{
	return xp_regmap_add_hashed(map, item_hash(item), item);
}

int xp_regmap_add_hashed(struct xp_regmap *map, uint64_t hash,
                         struct xp_regmap_item *item)
{
	XP_ASSERT(hash == item_hash(item));
	XP_ASSERT(!xp_regmap_find(map, item->ident, item->filter));
	if (XP_UNLIKELY(map->count >= map->most)) {
		int rc = xp_regmap_reserve(map, map->count + 1);

		if (rc < 0)
			return rc;
	}
	regmap_put(map, hash, item);
	map->drained = 0;
	map->count++;
	return 0;
}

/* The slot of this very item in a block; -1: it is not there. */
static int item_slot(const struct xp_regmap_block *block, uint64_t tag,
                     const struct xp_regmap_item *item)
{
	uint64_t found = xp_regmap_equal(block->tags, tag);

	for (; found; found &= found - 1)
		if (block->items[xp_regmap_slot(found)] == item)
			return (int)xp_regmap_slot(found);
	return -1;
}

void xp_regmap_remove(struct xp_regmap *map, struct xp_regmap_item *item)
{
	uint64_t hash = item_hash(item);
	size_t at = xp_regmap_start(map, hash);
	int slot;

	while ((slot = item_slot(&map->blocks[at], xp_regmap_tag(hash), item)) < 0) {
		XP_ASSERT(tags_passed(&map->blocks[at]) > 0);
		if (tags_passed(&map->blocks[at]) < PASSED_MOST)
			map->blocks[at].tags -= TAGS_PASSED;
		at = regmap_next(map, at);
	}
	map->blocks[at].tags &= ~(UINT64_C(255) << slot * 8);
	map->blocks[at].items[slot] = NULL;
	map->count--;
}

struct xp_regmap_item *xp_regmap_pop(struct xp_regmap *map)
{
	uint64_t taken;
	struct xp_regmap_block *block;
	struct xp_regmap_item *item;

	if (map->count == 0)
		return NULL;
	for (;; map->drained++) {
		block = &map->blocks[map->drained];
		taken = XP_REGMAP_HIGH & ~xp_regmap_equal(block->tags, 0);
		if (taken)
			break;
		regmap_prefetch_block(map, map->drained + REGMAP_AHEAD + 1);
	}
	item = block->items[xp_regmap_slot(taken)];
	xp_regmap_remove(map, item);
	return item;
}
