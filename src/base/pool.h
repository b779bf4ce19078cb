/*
 * A pool of objects of one size, in blocks that never move.
 *
 * A bit set in each block shows which of its objects are free.  The pool uses one block up before
 * the next, so objects that are made one after the other are mostly neighbours in memory.  The
 * memory of freed objects stays in the pool until the pool itself is freed.
 */
#ifndef XP_BASE_POOL_H
#define XP_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

struct xp_pool_block;

/* A pool; one whose bytes are all 0 has no blocks. */
struct xp_pool {
	/* first in the list of blocks with free objects; NULL: no block has one */
	struct xp_pool_block *with_free;
	struct xp_pool_block *all; /* first in the list of all blocks */
};

/*
 * Returns an uninitialised object, and stores in *place the index of the object in its block; NULL:
 * no memory.  size: bytes of an object, the same in all calls for a pool.
 */
void *xp_pool_take(struct xp_pool *pool, size_t size, unsigned *place);
/* Free an object; place: the index that xp_pool_take has stored. */
void xp_pool_give(struct xp_pool *pool, size_t size, void *object, unsigned place);
/* Free the pool with all its objects. */
void xp_pool_fini(struct xp_pool *pool);

#endif
