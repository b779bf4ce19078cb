/*
 * Objects of one size, in blocks that never move.
 *
 * Bits say which objects of a block are free, and one block is used up before the next: objects
 * that are made one after the other lie side by side, whatever was freed before, and in
 * whichever order.  Memory goes back with the pool.
 */
#ifndef XP_BASE_POOL_H
#define XP_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

struct xp_pool_block;

struct xp_pool {
	struct xp_pool_block *open; /* the first with free objects */
	struct xp_pool_block *all;
};

/* An object of this size, whatever its bytes are, and its place in its block; NULL: no memory. */
void *xp_pool_take(struct xp_pool *pool, size_t size, unsigned *place);
void xp_pool_give(struct xp_pool *pool, size_t size, void *object, unsigned place);
/* With all that is in use. */
void xp_pool_fini(struct xp_pool *pool);

#endif
