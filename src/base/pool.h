/*
 * Objects of one size, in blocks that never move.
 *
 * Bits show which objects of a block are free, and one block is used up before the next: objects
 * that are made one after the other are neighbours, whatever was freed before.  Memory is returned
 * with the pool.
 */
#ifndef XP_BASE_POOL_H
#define XP_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

struct xp_pool_block;

struct xp_pool {
	struct xp_pool_block *open; /* the first block with free objects */
	struct xp_pool_block *all;
};

/* Returns an uninitialised object of this size, and its index in its block; NULL: no memory. */
void *xp_pool_take(struct xp_pool *pool, size_t size, unsigned *place);
void xp_pool_give(struct xp_pool *pool, size_t size, void *object, unsigned place);
/* Free the pool with all its objects. */
void xp_pool_fini(struct xp_pool *pool);

#endif
