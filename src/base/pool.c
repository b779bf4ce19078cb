/* Objects of one size in pages. */
#include "base/pool.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/compiler.h"

/* Groups are numbered through all pages; so are objects. */
static uint32_t pool_page_groups(unsigned page)
{
	return 1u << page;
}

static unsigned pool_page_of(uint32_t group)
{
	return XP_HIGHEST_BIT(group + 1);
}

/* The number of its first group. */
static uint32_t pool_page_first(unsigned page)
{
	return pool_page_groups(page) - 1;
}

static struct xp_pool_group *pool_group(const struct xp_pool *pool,
                                      uint32_t group)
{
	unsigned page = pool_page_of(group);

	return &pool->page[page].groups[group - pool_page_first(page)];
}

static void *pool_object(const struct xp_pool *pool, uint32_t number)
{
	unsigned page = pool_page_of(number / XP_POOL_GROUP);
	uint32_t first = pool_page_first(page) * XP_POOL_GROUP;

	return pool->page[page].objects + (number - first) * pool->size;
}

void xp_pool_fini(struct xp_pool *pool)
{
	for (unsigned i = 0; i < pool->pages; i++) {
		xp_free(pool->page[i].objects);
		xp_free(pool->page[i].groups);
	}
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
	struct xp_pool_page *page = &pool->page[pool->pages];

	if (pool->pages == XP_POOL_PAGES)
		return;
	page->groups = xp_alloc(count * sizeof *page->groups);
	page->objects = xp_alloc(count * XP_POOL_GROUP * pool->size);
	if (!page->groups || !page->objects) {
		xp_free(page->groups);
		xp_free(page->objects);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		page->groups[i].free = UINT64_MAX;
		page->groups[i].next = first + i + 2;
	}
	page->groups[count - 1].next = 0;
	pool->pages++;
	pool_open(pool, first + 1);
}

void *xp_pool_take(struct xp_pool *pool, uint32_t *number)
{
	struct xp_pool_group *group;
	unsigned bit;
	void *object;

	if (XP_UNLIKELY(!pool->open))
		pool_grow(pool);
	if (XP_UNLIKELY(!pool->open))
		return NULL;
	group = pool->group;
	XP_ASSERT(group->free);
	bit = XP_LOWEST_BIT(group->free);
	object = pool->objects + bit * pool->size;
	*number = (pool->open - 1) * XP_POOL_GROUP + bit;
	group->free &= group->free - 1;
	if (!group->free)
		pool_open(pool, group->next);
	return memset(object, 0, pool->size);
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
