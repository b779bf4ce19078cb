/* The heap of deadlines; d-ary as in Knuth, 5.2.3, exercise 28. */
#include "base/heap.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"

enum {
	WIDTH = 4,
	CAP_LEAST = 61, /* with the three that are not used 1 KiB */
	LINE = 64,
};

static uint32_t parent_of(uint32_t place)
{
	return place / WIDTH + 2;
}

/* The first of its children. */
static uint32_t children_of(uint32_t place)
{
	return (place - 2) * WIDTH;
}

static void heap_put(struct xp_heap *heap, uint32_t place,
                     struct xp_heap_entry entry)
{
	heap->entries[place] = entry;
	entry.item->place = place;
}

/* Let the entry rise from this place to where it belongs. */
static void heap_rise(struct xp_heap *heap, uint32_t place,
                      struct xp_heap_entry entry)
{
	while (place > XP_HEAP_FIRST) {
		uint32_t parent = parent_of(place);

		if (heap->entries[parent].deadline_ns <= entry.deadline_ns)
			break;
		heap_put(heap, place, heap->entries[parent]);
		place = parent;
	}
	heap_put(heap, place, entry);
}

/* The earliest of the children that begin at `place`. */
static uint32_t earliest(const struct xp_heap *heap, uint32_t place,
                         uint32_t end)
{
	uint32_t last = place + WIDTH < end ? place + WIDTH : end;
	uint32_t found = place;

	while (++place < last)
		if (heap->entries[place].deadline_ns <
		    heap->entries[found].deadline_ns)
			found = place;
	return found;
}

/*
 * Let the entry sink from this place to where it belongs.  In a heap of a
 * million the lower levels are not in the cache.  Which child comes next is
 * known only after a look at all, so all grandchildren, which are neighbours,
 * are fetched meanwhile.
 */
static void heap_sink(struct xp_heap *heap, uint32_t place,
                      struct xp_heap_entry entry)
{
	uint32_t end = XP_HEAP_FIRST + heap->len;

	for (;;) {
		uint32_t child = children_of(place);
		uint32_t ahead = children_of(child);

		if (child >= end)
			break;
		if (ahead < end)
			for (int i = 0; i < WIDTH; i++)
				XP_PREFETCH(&heap->entries[ahead + i * WIDTH]);
		child = earliest(heap, child, end);
		if (entry.deadline_ns <= heap->entries[child].deadline_ns)
			break;
		heap_put(heap, place, heap->entries[child]);
		place = child;
	}
	heap_put(heap, place, entry);
}

static int heap_resize(struct xp_heap *heap, uint32_t cap)
{
	size_t size = sizeof *heap->entries * (XP_HEAP_FIRST + (size_t)cap);
	char *memory = xp_alloc(size + LINE);
	char *start;

	if (!memory)
		return -ENOMEM;
	XP_ASSERT(cap >= heap->len);
	start = memory + (LINE - (uintptr_t)memory % LINE);
	if (heap->len)
		memcpy(start, heap->entries, sizeof *heap->entries *
		       (XP_HEAP_FIRST + (size_t)heap->len));
	xp_free(heap->memory);
	heap->memory = memory;
	heap->entries = (struct xp_heap_entry *)(void *)start;
	heap->cap = cap;
	return 0;
}

void xp_heap_fini(struct xp_heap *heap)
{
	xp_free(heap->memory);
	*heap = (struct xp_heap){0};
}

int xp_heap_reserve(struct xp_heap *heap, uint32_t count)
{
	uint32_t cap = heap->cap + heap->cap / 2;

	if (count <= heap->cap)
		return 0;
	if (count > XP_HEAP_MOST)
		return -ENOMEM;
	if (cap < count)
		cap = count;
	return heap_resize(heap, cap < CAP_LEAST ? CAP_LEAST : cap);
}

void xp_heap_trim(struct xp_heap *heap, uint32_t count)
{
	XP_ASSERT(count >= heap->len);
	/* Far from where it would grow again; if it fails nothing is lost. */
	if (heap->cap > CAP_LEAST && heap->cap / 4 > count)
		(void)heap_resize(heap, heap->cap / 2);
}

void xp_heap_add(struct xp_heap *heap, struct xp_heap_item *item,
                 int64_t deadline_ns)
{
	struct xp_heap_entry entry = {deadline_ns, item};

	XP_ASSERT(heap->len < heap->cap && !xp_heap_has(item));
	heap_rise(heap, XP_HEAP_FIRST + heap->len++, entry);
}

void xp_heap_remove(struct xp_heap *heap, struct xp_heap_item *item)
{
	uint32_t place = item->place;
	struct xp_heap_entry last;

	XP_ASSERT(place >= XP_HEAP_FIRST && place < XP_HEAP_FIRST + heap->len);
	XP_ASSERT(heap->entries[place].item == item);
	item->place = 0;
	last = heap->entries[XP_HEAP_FIRST + --heap->len];
	if (last.item == item)
		return;
	/* The last one takes its place, and from there goes where it belongs. */
	if (place > XP_HEAP_FIRST &&
	    last.deadline_ns < heap->entries[parent_of(place)].deadline_ns)
		heap_rise(heap, place, last);
	else
		heap_sink(heap, place, last);
}
