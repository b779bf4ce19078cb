/* The heap of deadlines; d-ary as in Knuth, 5.2.3, exercise 28. */
#include "base/heap.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"

enum {
	HEAP_WIDTH = 4,
	HEAP_AHEAD = 16, /* number of items to prefetch that will move soon */
};

static uint32_t heap_parent(uint32_t place)
{
	return place / HEAP_WIDTH + 2;
}

/* Returns the index of the first child of an entry. */
static uint32_t heap_children(uint32_t place)
{
	return (place - 2) * HEAP_WIDTH;
}

static void heap_put(struct xp_heap *heap, uint32_t place, struct xp_heap_entry entry)
{
	heap->entries[place] = entry;
	entry.item->place = place;
}

/* Move the entry up from this index until the heap order is right. */
static XP_INLINE void heap_rise(struct xp_heap *heap, uint32_t place, struct xp_heap_entry entry)
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

/* Returns the child with the earliest deadline, of those from `place` on. */
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
 * Move the entry down from this index until the heap order is right.  In a heap of a million the
 * lower levels are not in the cache.  Which child is next is known only after all were compared, so
 * all grandchildren, which are neighbours, are prefetched meanwhile.
 */
static void heap_sink(struct xp_heap *heap, uint32_t place, struct xp_heap_entry entry)
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

static int heap_resize(struct xp_heap *heap, uint32_t cap)
{
	struct xp_heap_entry *entries =
		xp_alloc_lines(sizeof *entries * (XP_HEAP_FIRST + (size_t)cap));

	if (!entries)
		return -ENOMEM;
	XP_ASSERT(cap >= heap->len);
	if (heap->len)
		memcpy(entries + XP_HEAP_FIRST, heap->entries + XP_HEAP_FIRST,
		       sizeof *entries * heap->len);
	xp_free(heap->entries);
	heap->entries = entries;
	heap->cap = cap;
	return 0;
}

void xp_heap_fini(struct xp_heap *heap)
{
	xp_free(heap->entries);
	*heap = (struct xp_heap){0};
}

int xp_heap_grow(struct xp_heap *heap, uint32_t count)
{
	uint32_t cap = heap->cap + heap->cap / 2;

	if (count > UINT32_MAX / HEAP_WIDTH) /* the index of a child has to fit */
		return -ENOMEM;
	return heap_resize(heap, cap < count ? count : cap);
}

/*
 * Prefetch items that will move soon.  An item that moves stores its new index; in a heap of a
 * million that is a write to memory that is not in the cache, and later stores wait.  Which items
 * move next is known: the parents of the indexes after the last one, and the last items themselves.
 */
static void heap_fetch_parents(const struct xp_heap *heap, uint32_t place)
{
	uint32_t parent;

	/* once for all entries with the same parent */
	if (place % HEAP_WIDTH || place < 2 * HEAP_AHEAD)
		return;
	parent = heap_parent(place + HEAP_AHEAD);
	xp_prefetch(heap->entries[parent].item);
	if (place % (HEAP_WIDTH * HEAP_WIDTH) == 0)
		xp_prefetch(heap->entries[heap_parent(parent)].item);
}

static void heap_fetch_last(const struct xp_heap *heap)
{
	if (heap->len > HEAP_AHEAD)
		xp_prefetch(heap->entries[XP_HEAP_FIRST + heap->len - HEAP_AHEAD].item);
}

void xp_heap_add(struct xp_heap *heap, struct xp_heap_item *item, int64_t deadline_ns)
{
	struct xp_heap_entry entry = {deadline_ns, item};
	uint32_t place = XP_HEAP_FIRST + heap->len++;

	XP_ASSERT(heap->len <= heap->cap && !xp_heap_has(item));
	heap_fetch_parents(heap, place);
	heap_rise(heap, place, entry);
}

/* Move the entry up or down from this index until the heap order is right. */
static void heap_settle(struct xp_heap *heap, uint32_t place, struct xp_heap_entry entry)
{
	if (place > XP_HEAP_FIRST &&
	    entry.deadline_ns < heap->entries[heap_parent(place)].deadline_ns)
		heap_rise(heap, place, entry);
	else
		heap_sink(heap, place, entry);
}

void xp_heap_remove(struct xp_heap *heap, struct xp_heap_item *item)
{
	uint32_t place = item->place;
	struct xp_heap_entry last;

	XP_ASSERT(place >= XP_HEAP_FIRST && place < XP_HEAP_FIRST + heap->len);
	XP_ASSERT(heap->entries[place].item == item);
	item->place = 0;
	heap_fetch_last(heap);
	last = heap->entries[XP_HEAP_FIRST + --heap->len];
	if (last.item == item)
		return;
	heap_settle(heap, place, last);
}

void xp_heap_move(struct xp_heap *heap, struct xp_heap_item *item, int64_t deadline_ns)
{
	XP_ASSERT(heap->entries[item->place].item == item);
	heap_settle(heap, item->place, (struct xp_heap_entry){deadline_ns, item});
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
