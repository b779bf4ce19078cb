/* The heap of deadlines; d-ary as in Knuth, 5.2.3, exercise 28. */
#include "base/heap.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"

enum {
	HEAP_WIDTH = 4,
	HEAP_AHEAD = 16, /* items to be moved soon that are fetched */
};

static uint32_t heap_parent(uint32_t place)
{
	return place / HEAP_WIDTH + 2;
}

/* The first of its children. */
static uint32_t heap_children(uint32_t place)
{
	return (place - 2) * HEAP_WIDTH;
}

static void heap_put(struct xp_heap *heap, uint32_t place, struct xp_heap_entry entry)
{
	heap->entries[place] = entry;
	entry.item->place = place;
}

/* Let the entry rise from this place to where it belongs. */
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

/* The heap_earliest of the children that begin at `place`. */
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
 * Let the entry sink from this place to where it belongs.  In a heap of a
 * million the lower levels are not in the cache.  Which child comes next is
 * known only after a look at all, so all grandchildren, which are neighbours,
 * are fetched meanwhile.
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

	if (count > UINT32_MAX / HEAP_WIDTH) /* the number of a child has to fit */
		return -ENOMEM;
	return heap_resize(heap, cap < count ? count : cap);
}

/*
 * Items move when others are added or removed, and learn their new place;
 * in a heap of a million that is a write to memory that was not touched for
 * long, and the stores behind it wait.  Which ones come next is known: the
 * parents of the places behind the last one, and the last ones themselves.
 */
static void heap_fetch_parents(const struct xp_heap *heap, uint32_t place)
{
	uint32_t parent;

	/* Once for all that have the same parent. */
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

/* Let the entry go from this place to where it belongs. */
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
