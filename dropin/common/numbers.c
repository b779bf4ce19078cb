/*
 * The table with the state of each descriptor (struct number), in pages that number_make allocates
 * and that are never freed.
 */
#include "common/numbers.h"

#include <stdlib.h>

enum {
	NUMBERS_PER_PAGE = 1024, /* number of descriptors in a page */
	NUMBERS_PAGES = 1 << 14, /* number of pages: enough for 2^24 descriptors */
};

static struct {
	_Atomic(struct number *) pages[NUMBERS_PAGES];
	atomic_uint end; /* no descriptor from this number on has a page */
} numbers_table;

struct number *number_at(int fd)
{
	unsigned page = (unsigned)fd / NUMBERS_PER_PAGE;
	struct number *numbers = page < NUMBERS_PAGES
		? atomic_load_explicit(&numbers_table.pages[page], memory_order_acquire)
		: NULL;

	return numbers ? &numbers[fd % NUMBERS_PER_PAGE] : NULL;
}

struct number *number_make(int fd)
{
	unsigned page = (unsigned)fd / NUMBERS_PER_PAGE;
	struct number *numbers = NULL, *fresh;
	unsigned end = atomic_load(&numbers_table.end);

	if (page >= NUMBERS_PAGES)
		return NULL;
	while (end <= (unsigned)fd &&
	       !atomic_compare_exchange_weak(&numbers_table.end, &end,
	                                     (page + 1) * NUMBERS_PER_PAGE))
		continue;
	if (number_at(fd))
		return number_at(fd);
	fresh = calloc(NUMBERS_PER_PAGE, sizeof *fresh);
	if (fresh && !atomic_compare_exchange_strong(&numbers_table.pages[page], &numbers, fresh))
		free(fresh);
	return number_at(fd);
}

unsigned numbers_end(void)
{
	return atomic_load(&numbers_table.end);
}

void number_mark_registered(int fd)
{
	struct number *number = number_at(fd);

	if (!number)
		number = number_make(fd);
	if (number && !atomic_load_explicit(&number->may_be_registered, memory_order_relaxed))
		atomic_store(&number->may_be_registered, true);
}

bool number_needs_close_hook(int fd)
{
	struct number *number = number_at(fd);

	return number && (atomic_load(&number->may_be_registered) || atomic_load(&number->object));
}
