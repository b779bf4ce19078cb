/* The table of descriptor numbers: pages that are allocated once and stay. */
#include "common/numbers.h"

#include <stdlib.h>

enum {
	NUMBERS_PAGE = 1024,
	NUMBERS_PAGES = 1 << 14,
};

static struct {
	_Atomic(struct number *) pages[NUMBERS_PAGES];
	atomic_uint end; /* no number from here on was recorded */
} numbers_table;

struct number *number_at(int fd)
{
	unsigned page = (unsigned)fd / NUMBERS_PAGE;
	struct number *numbers = page < NUMBERS_PAGES
		? atomic_load_explicit(&numbers_table.pages[page], memory_order_acquire)
		: NULL;

	return numbers ? &numbers[fd % NUMBERS_PAGE] : NULL;
}

struct number *number_make(int fd)
{
	unsigned page = (unsigned)fd / NUMBERS_PAGE;
	struct number *numbers = NULL, *fresh;
	unsigned end = atomic_load(&numbers_table.end);

	if (page >= NUMBERS_PAGES)
		return NULL;
	while (end <= (unsigned)fd &&
	       !atomic_compare_exchange_weak(&numbers_table.end, &end,
	                                     (page + 1) * NUMBERS_PAGE))
		continue;
	if (number_at(fd))
		return number_at(fd);
	fresh = calloc(NUMBERS_PAGE, sizeof *fresh);
	if (fresh && !atomic_compare_exchange_strong(&numbers_table.pages[page], &numbers, fresh))
		free(fresh);
	return number_at(fd);
}

unsigned numbers_end(void)
{
	return atomic_load(&numbers_table.end);
}

void number_watch(int fd)
{
	struct number *number = number_at(fd);

	if (!number)
		number = number_make(fd);
	if (number && !atomic_load_explicit(&number->watched, memory_order_relaxed))
		atomic_store(&number->watched, true);
}

bool number_concerns(int fd)
{
	struct number *number = number_at(fd);

	return number && (atomic_load(&number->watched) || atomic_load(&number->object));
}
