/*
 * A pool: the memory of objects that have ended, which new objects of the same type use again.
 *
 * The memory is never freed, because a call that finds an object without a lock may read the
 * object's count of references after the object has ended.  The pool has no lock, so a forked child
 * or a signal handler cannot find it locked.
 */
#ifndef DROPIN_COMMON_POOL_H
#define DROPIN_COMMON_POOL_H

#include <stdatomic.h>
#include <stddef.h>

/* The first member of an object that a pool can keep. */
struct pool_node {
	struct pool_node *next;
};

typedef _Atomic(struct pool_node *) pool_list;

/* Put the memory of an ended object into the pool. */
static inline void pool_give(pool_list *pool, struct pool_node *node)
{
	node->next = atomic_load(pool);
	while (!atomic_compare_exchange_weak(pool, &node->next, node))
		continue;
}

/*
 * Returns the memory of an ended object, with its old contents.  Returns NULL if the pool is empty,
 * or if another thread has just taken the whole list; then the caller allocates memory.
 */
static inline void *pool_take(pool_list *pool)
{
	/*
	 * Take the whole list, so that no other thread can change the `next` of one of the list's
	 * nodes.
	 */
	struct pool_node *node = atomic_exchange(pool, NULL), *none = NULL;
	struct pool_node *rest = node ? node->next : NULL;

	if (!rest || atomic_compare_exchange_strong(pool, &none, rest))
		return node;
	/*
	 * Another thread has put objects into the pool since this call took the list: put the other
	 * nodes of the taken list back one at a time.
	 */
	while (rest) {
		struct pool_node *next = rest->next;

		pool_give(pool, rest);
		rest = next;
	}
	return node;
}

#endif
