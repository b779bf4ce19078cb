/* The pool of objects of one size: see pool.h. */
#include "base/pool.h"

#include "base/alloc.h"
#include "base/assert.h"

enum { POOL_OBJECTS = 64 }; /* objects in a block: one for each bit of its bit set */

/* The head of a block, followed by its objects. */
struct xp_pool_block {
	_Alignas(XP_CACHE_LINE) uint64_t free; /* bit N: object N is free */
	/* next in the list of blocks with free objects, if this block has any */
	struct xp_pool_block *next_with_free;
	struct xp_pool_block *next; /* next in the list of all blocks */
};

/*
 * Add a block of free objects to the pool; called if no block has a free object.  Returns the
 * block; NULL: no memory.
 */
static XP_COLD struct xp_pool_block *pool_grow(struct xp_pool *pool, size_t size)
{
	struct xp_pool_block *block = xp_alloc_aligned(sizeof *block + POOL_OBJECTS * size);

	if (!block)
		return NULL;
	*block = (struct xp_pool_block){.free = UINT64_MAX, .next = pool->all};
	pool->with_free = pool->all = block;
	return block;
}

void *xp_pool_take(struct xp_pool *pool, size_t size, unsigned *place)
{
	struct xp_pool_block *block = pool->with_free ? pool->with_free : pool_grow(pool, size);

	if (!block)
		return NULL;
	XP_ASSERT(block->free);
	*place = XP_LOWEST_BIT(block->free);
	block->free &= block->free - 1;
	if (!block->free)
		pool->with_free = block->next_with_free;
	return (char *)(block + 1) + *place * size;
}

void xp_pool_give(struct xp_pool *pool, size_t size, void *object, unsigned place)
{
	struct xp_pool_block *block = (void *)((char *)object - place * size - sizeof *block);

	XP_ASSERT(place < POOL_OBJECTS && !(block->free >> place & 1));
	if (!block->free) {
		block->next_with_free = pool->with_free;
		pool->with_free = block;
	}
	block->free |= UINT64_C(1) << place;
}

void xp_pool_fini(struct xp_pool *pool)
{
	struct xp_pool_block *block;

	while ((block = pool->all)) {
		pool->all = block->next;
		xp_free(block);
	}
	pool->with_free = NULL;
}
