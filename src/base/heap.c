/*
 * The heap of deadlines: each entry has four children (Knuth, The Art of Computer Programming,
 * 5.2.3, exercise 28).  A place is an index in the array of entries.
 */
#include "base/heap.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"

enum {
	HEAP_WIDTH = 4,
	/* before each addition or removal, prefetch an item that may move so many of them later */
	HEAP_AHEAD = 16,
};

/*
 * Returns the index of an entry's parent: entry 3, the first, has the children 4 to 7, entry 4 the
 * children 8 to 11, and so on.
 */
static uint32_t heap_parent(uint32_t place)
{
	return place / HEAP_WIDTH + 2;
}

/* Returns the index of the first of the four children that an entry may have. */
static uint32_t heap_children(uint32_t place)
{
	return (place - 2) * HEAP_WIDTH;
}

/*
 * Store an entry at this index, and the index in its item, by which xp_heap_remove finds the entry.
 */
static void heap_put(struct xp_heap *heap, uint32_t place, struct xp_heap_entry entry)
{
	heap->entries[place] = entry;
	entry.item->place = place;
}

/* Store the entry at this free index or above it: parents with a later deadline move down first. */
static XP_INLINE void heap_move_up(struct xp_heap *heap, uint32_t place, struct xp_heap_entry entry)
{
	while (place > XP_HEAP_FIRST) {
		uint32_t parent = heap_parent(place);

		if (heap->entries[parent].deadline_ns <= entry.deadline_ns)
			break;
		heap_put(heap, place, heap->entries[parent]);
		place = parent;
	}
	heap_put(heap, place, entry);
}

/*
 * Returns which of the siblings from index `place` on has the earliest deadline; end: the index
 * after the last entry of the heap.
 */
static uint32_t heap_earliest(const struct xp_heap *heap, uint32_t place, uint32_t end)
{
	uint32_t last = place + HEAP_WIDTH < end ? place + HEAP_WIDTH : end;
	uint32_t found = place;

	while (++place < last)
		if (heap->entries[place].deadline_ns < heap->entries[found].deadline_ns)
			found = place;
	return found;
}

/*
 * Store the entry at this free index or below it: children with an earlier deadline move up first.
 * In a heap of a million items the lower levels are not in the cache.  Only the comparison of the
 * children shows whose children are compared next, so all grandchildren, four adjacent cache lines,
 * are prefetched before it.
 */
static void heap_move_down(struct xp_heap *heap, uint32_t place, struct xp_heap_entry entry)
{
	uint32_t end = XP_HEAP_FIRST + heap->len;

	for (;;) {
		uint32_t child = heap_children(place);
		uint32_t ahead = heap_children(child);

		if (child >= end)
			break;
		if (ahead < end)
			for (int i = 0; i < HEAP_WIDTH; i++)
				xp_prefetch(&heap->entries[ahead + i * HEAP_WIDTH]);
		child = heap_earliest(heap, child, end);
		if (entry.deadline_ns <= heap->entries[child].deadline_ns)
			break;
		heap_put(heap, place, heap->entries[child]);
		place = child;
	}
	heap_put(heap, place, entry);
}

void xp_heap_fini(struct xp_heap *heap)
{
	xp_free(heap->entries);
	*heap = (struct xp_heap){0};
}

int xp_heap_grow(struct xp_heap *heap, uint32_t count)
{
	uint32_t larger = heap->cap + heap->cap / 2, cap = larger < count ? count : larger;
	struct xp_heap_entry *entries;

	if (count > UINT32_MAX / HEAP_WIDTH) /* the index of the last child must not overflow */
		return -ENOMEM;
	entries = xp_alloc_aligned(sizeof *entries * (XP_HEAP_FIRST + (size_t)cap));
	if (!entries)
		return -ENOMEM;
	if (heap->len)
		memcpy(entries + XP_HEAP_FIRST, heap->entries + XP_HEAP_FIRST,
		       sizeof *entries * heap->len);
	xp_free(heap->entries);
	heap->entries = entries;
	heap->cap = cap;
	return 0;
}

/*
 * Prefetch the items that a later addition may move.  An item that moves stores its new index; in a
 * heap of a million items that store misses the cache, and later stores wait for it.  An addition
 * moves ancestors of the first free entry.  So prefetch the parent of the entry that will be the
 * first free one HEAP_AHEAD additions later, and, for every 16th entry, its grandparent as well.
 */
static void heap_prefetch_parents(const struct xp_heap *heap, uint32_t place)
{
	uint32_t parent;

	/*
	 * Four siblings have the same parent: prefetch the parent for the first sibling only.  Skip
	 * a small heap, which is in the cache anyway.
	 */
	if (place % HEAP_WIDTH || place < 2 * HEAP_AHEAD)
		return;
	parent = heap_parent(place + HEAP_AHEAD);
	xp_prefetch(heap->entries[parent].item);
	if (place % (HEAP_WIDTH * HEAP_WIDTH) == 0)
		xp_prefetch(heap->entries[heap_parent(parent)].item);
}

/*
 * Each removal moves the last item of the heap, and writes to it.  Prefetch the item that the
 * HEAP_AHEADth removal from now on will move, so that it is in the cache by then.
 */
static void heap_prefetch_last(const struct xp_heap *heap)
{
	if (heap->len > HEAP_AHEAD)
		xp_prefetch(heap->entries[XP_HEAP_FIRST + heap->len - HEAP_AHEAD].item);
}

void xp_heap_add(struct xp_heap *heap, struct xp_heap_item *item, int64_t deadline_ns)
{
	struct xp_heap_entry entry = {deadline_ns, item};
	uint32_t place = XP_HEAP_FIRST + heap->len++;

	XP_ASSERT(heap->len <= heap->cap && !xp_heap_has(item));
	heap_prefetch_parents(heap, place);
	heap_move_up(heap, place, entry);
}

/* Store the entry at this free index, or above or below it, wherever its deadline belongs. */
static void heap_move(struct xp_heap *heap, uint32_t place, struct xp_heap_entry entry)
{
	if (place > XP_HEAP_FIRST &&
	    entry.deadline_ns < heap->entries[heap_parent(place)].deadline_ns)
		heap_move_up(heap, place, entry);
	else
		heap_move_down(heap, place, entry);
}

void xp_heap_remove(struct xp_heap *heap, struct xp_heap_item *item)
{
	uint32_t place = item->place;
	struct xp_heap_entry last;

	XP_ASSERT(place >= XP_HEAP_FIRST && place < XP_HEAP_FIRST + heap->len);
	XP_ASSERT(heap->entries[place].item == item);
	item->place = 0;
	heap_prefetch_last(heap);
	last = heap->entries[XP_HEAP_FIRST + --heap->len];
	if (last.item != item)
		heap_move(heap, place, last);
}

void xp_heap_move(struct xp_heap *heap, struct xp_heap_item *item, int64_t deadline_ns)
{
	XP_ASSERT(heap->entries[item->place].item == item);
	heap_move(heap, item->place, (struct xp_heap_entry){deadline_ns, item});
}

void xp_heap_prefetch(const struct xp_heap *heap, const struct xp_heap_item *item)
{
	uint32_t place = item->place;

	if (!place)
		return;
	xp_prefetch(&heap->entries[place]);
	if (place > XP_HEAP_FIRST)
		xp_prefetch(&heap->entries[heap_parent(place)]);
	if (heap_children(place) < XP_HEAP_FIRST + heap->len)
		xp_prefetch(&heap->entries[heap_children(place)]);
}
