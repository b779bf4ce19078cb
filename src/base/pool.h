/*
 * Objects of one size, known by their number.
 *
 * They live in pages that never move, each twice as large as the one before up
 * to 262144 objects, without a header each.  Bits say which of them are free, 64 in a
 * word, and one word is used up before the next: objects that are made one
 * after the other lie side by side, also after others were freed in any order,
 * and a free object is not touched.
 *
 * Memory goes back with the pool, not before.
 */
#ifndef XP_BASE_POOL_H
#define XP_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/compiler.h"

enum { XP_POOL_GROUP = 64 }; /* objects whose bits are one word */

struct xp_pool_group {
	uint64_t free; /* a set of its objects */
	uint32_t next; /* in the list of those with free ones */
};

struct xp_pool_page {
	char *objects;
	struct xp_pool_group *groups;
};

struct xp_pool {
	size_t size;    /* of an object; set before the first use */
	uint32_t pages; /* how many there are */
	uint32_t open;  /* the first group with free objects, plus 1; 0: none */
	struct xp_pool_group *group; /* that one */
	char *objects;               /* its objects */
	uint32_t taken; /* the number of the object that was taken last */
	struct xp_pool_page *page;
	int pages_cap; /* how many there is room for */
};

void xp_pool_fini(struct xp_pool *pool); /* with all that is in use */

/* The open group is used up, or there is none: open another; it may fail. */
void xp_pool_open_next(struct xp_pool *pool);

/* An object, whatever its bytes are; `taken` is its number; NULL: no memory. */
static inline void *xp_pool_take(struct xp_pool *pool)
{
	struct xp_pool_group *group;
	unsigned bit;
	void *object;

	if (XP_UNLIKELY(!pool->open)) {
		xp_pool_open_next(pool);
		if (!pool->open)
			return NULL;
	}
	group = pool->group;
	XP_ASSERT(group->free);
	bit = XP_LOWEST_BIT(group->free);
	object = pool->objects + bit * pool->size;
	pool->taken = (pool->open - 1) * XP_POOL_GROUP + bit;
	group->free &= group->free - 1;
	if (XP_UNLIKELY(!group->free))
		xp_pool_open_next(pool);
	return object;
}
void xp_pool_give(struct xp_pool *pool, uint32_t number);

/*
 * The first object in use from *number on, for a walk over all of them; NULL:
 * there is none.  *number becomes the one after it.
 */
void *xp_pool_walk(const struct xp_pool *pool, uint32_t *number);

#endif
