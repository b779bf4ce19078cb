/*
 * A heap of deadlines: the item with the earliest one is always first.
 *
 * An entry has four children, which are in one cache line together with their deadlines, so finding
 * the earliest child reads no other memory.  Each item stores its index, so any item can be
 * removed.  Adding an item and removing an arbitrary one take constant time on average, at worst
 * O(log n); removing the first takes O(log n).
 *
 * Only xp_heap_reserve allocates.  So a periodic timer that expires in a wait, leaves the heap and
 * returns to it needs no memory.
 */
#ifndef XP_BASE_HEAP_H
#define XP_BASE_HEAP_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/time.h"

/* The part of an item, such as a timer, that the heap uses. */
struct xp_heap_item {
	uint32_t place; /* index in the heap's entries; 0: in no heap */
};

/* An item in the heap, with its deadline, so that comparing reads no item. */
struct xp_heap_entry {
	int64_t deadline_ns;
	struct xp_heap_item *item;
};

struct xp_heap {
	/* array that begins a cache line; entries before XP_HEAP_FIRST are unused */
	struct xp_heap_entry *entries;
	uint32_t len; /* number of items, which are at entries[XP_HEAP_FIRST] and after it */
	uint32_t cap; /* number of items for which there is room */
};

/*
 * Index of the first entry.  With 3, siblings begin at a multiple of four, so they share a cache
 * line.
 */
enum { XP_HEAP_FIRST = 3 };

void xp_heap_fini(struct xp_heap *heap); /* frees the array; the items belong to the caller */

/* The slow path of xp_heap_reserve, which allocates. */
int xp_heap_grow(struct xp_heap *heap, uint32_t count);
/* Make room for this number of items, including those in the heap.  Returns 0 or -ENOMEM. */
static inline int xp_heap_reserve(struct xp_heap *heap, uint32_t count)
{
	return XP_LIKELY(count <= heap->cap) ? 0 : xp_heap_grow(heap, count);
}

/* Add an item.  There must be room, and the item must be in no heap. */
void xp_heap_add(struct xp_heap *heap, struct xp_heap_item *item, int64_t deadline_ns);
/* Remove an item, the first one or any other, which must be in this heap.  Cannot fail. */
void xp_heap_remove(struct xp_heap *heap, struct xp_heap_item *item);
/* Give an item of this heap another deadline. */
void xp_heap_move(struct xp_heap *heap, struct xp_heap_item *item, int64_t deadline_ns);

/* Prefetch the memory that a removal of the item will read. */
void xp_heap_prefetch(const struct xp_heap *heap, const struct xp_heap_item *item);

/* Returns the earliest deadline; XP_NEVER if the heap is empty. */
static inline int64_t xp_heap_deadline(const struct xp_heap *heap)
{
	return heap->len ? heap->entries[XP_HEAP_FIRST].deadline_ns : XP_NEVER;
}

/* Returns the item with the earliest deadline; the heap must not be empty. */
static inline struct xp_heap_item *xp_heap_first(const struct xp_heap *heap)
{
	return heap->entries[XP_HEAP_FIRST].item;
}

static inline bool xp_heap_is_first(const struct xp_heap_item *item)
{
	return item->place == XP_HEAP_FIRST;
}

static inline bool xp_heap_has(const struct xp_heap_item *item)
{
	return item->place != 0;
}

#endif
