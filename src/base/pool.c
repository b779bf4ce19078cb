/* Objects of one size in pages. */
#include "base/pool.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/compiler.h"
#include "base/table.h"

enum {
	/* Pages that have 1, 2, 4 ... groups; what comes after has 4096 each. */
	POOL_SMALL = 12,
	POOL_LARGE_GROUPS = 1 << POOL_SMALL,
	POOL_NUMBERS = 1 << 30,
};

static uint32_t pool_page_groups(uint32_t page)
{
	return page < POOL_SMALL ? 1u << page : POOL_LARGE_GROUPS;
}

/* Groups are numbered through all pages; so are objects. */
static uint32_t pool_page_of(uint32_t group)
{
	if (group < POOL_LARGE_GROUPS - 1)
		return XP_HIGHEST_BIT(group + 1);
	return POOL_SMALL + (group + 1) / POOL_LARGE_GROUPS - 1;
}

/* The number of its first group. */
static uint32_t pool_page_first(uint32_t page)
{
	if (page < POOL_SMALL)
		return (1u << page) - 1;
	return (page - POOL_SMALL + 1) * POOL_LARGE_GROUPS - 1;
}

static struct xp_pool_group *pool_group(const struct xp_pool *pool,
                                      uint32_t group)
{
	uint32_t page = pool_page_of(group);

	return &pool->page[page].groups[group - pool_page_first(page)];
}

static void *pool_object(const struct xp_pool *pool, uint32_t number)
{
	uint32_t page = pool_page_of(number / XP_POOL_GROUP);
	uint32_t first = pool_page_first(page) * XP_POOL_GROUP;

	return pool->page[page].objects + (number - first) * pool->size;
}

void xp_pool_fini(struct xp_pool *pool)
{
	for (uint32_t i = 0; i < pool->pages; i++) {
		xp_free(pool->page[i].objects);
		xp_free(pool->page[i].groups);
	}
	xp_free(pool->page);
	*pool = (struct xp_pool){.size = pool->size};
}

/* This group is the first with free objects from now on. */
static void pool_open(struct xp_pool *pool, uint32_t open)
{
	pool->open = open;
	if (open) {
		pool->group = pool_group(pool, open - 1);
		pool->objects = pool_object(pool, (open - 1) * XP_POOL_GROUP);
	}
}

/* All objects are in use. */
static void pool_grow(struct xp_pool *pool)
{
	uint32_t count = pool_page_groups(pool->pages);
	uint32_t first = pool_page_first(pool->pages);
	struct xp_pool_page page;

	if (first + count > POOL_NUMBERS / XP_POOL_GROUP ||
	    XP_TABLE_RESERVE(&pool->page, &pool->pages_cap, (int)pool->pages + 1) < 0)
		return;
	page.groups = xp_alloc(count * sizeof *page.groups);
	page.objects = xp_alloc_lines(count * XP_POOL_GROUP * pool->size);
	if (!page.groups || !page.objects) {
		xp_free(page.groups);
		xp_free(page.objects);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		page.groups[i].free = UINT64_MAX;
		page.groups[i].next = first + i + 2;
	}
	page.groups[count - 1].next = 0;
	pool->page[pool->pages++] = page;
	pool_open(pool, first + 1);
}

void xp_pool_open_next(struct xp_pool *pool)
{
	if (pool->open)
		pool_open(pool, pool->group->next);
	else
		pool_grow(pool);
}

void xp_pool_give(struct xp_pool *pool, uint32_t number)
{
	uint32_t index = number / XP_POOL_GROUP;
	struct xp_pool_group *group = pool_group(pool, index);
	uint64_t bit = UINT64_C(1) << number % XP_POOL_GROUP;

	XP_ASSERT(!(group->free & bit));
	if (!group->free) {
		group->next = pool->open;
		pool_open(pool, index + 1);
	}
	group->free |= bit;
}

void *xp_pool_walk(const struct xp_pool *pool, uint32_t *number)
{
	uint32_t end = pool_page_first(pool->pages) * XP_POOL_GROUP;

	for (; *number < end; ++*number) {
		uint64_t free = pool_group(pool, *number / XP_POOL_GROUP)->free;

		if (!(free >> *number % XP_POOL_GROUP & 1))
			return pool_object(pool, (*number)++);
	}
	return NULL;
}
