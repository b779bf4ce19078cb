/* Memory from the C library. */
#include "base/alloc.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/compiler.h"

/* The least size of a table for which huge pages are requested. */
#define LARGE ((size_t)4 << 20)

/*
 * Request huge pages for a large table.  In small pages each random access is a miss in the TLB as
 * well, and mapping the pages costs more than filling them.  It is a hint: an error has no effect.
 */
static void want_huge_pages(void *memory, size_t size)
{
#ifdef MADV_HUGEPAGE
	uintptr_t start = ((uintptr_t)memory + 4095) & ~(uintptr_t)4095;
	uintptr_t end = ((uintptr_t)memory + size) & ~(uintptr_t)4095;

	(void)madvise((void *)start, end - start, MADV_HUGEPAGE);
#else
	(void)memory, (void)size;
#endif
}

void *xp_alloc(size_t size)
{
	int saved = errno;
	void *memory = calloc(1, size);

	if (memory && size >= LARGE)
		want_huge_pages(memory, size);
	errno = saved;
	return memory;
}

void *xp_alloc_lines(size_t size)
{
	size_t lines = (size + XP_CACHE_LINE - 1) / XP_CACHE_LINE;
	int saved = errno;
	void *memory = aligned_alloc(XP_CACHE_LINE, lines * XP_CACHE_LINE);

	if (memory && size >= LARGE)
		want_huge_pages(memory, size);
	errno = saved;
	return memory;
}

void *xp_realloc(void *memory, size_t size)
{
	int saved = errno;
	void *grown = realloc(memory, size);

	errno = saved;
	return grown;
}

void xp_free(void *memory)
{
	free(memory);
}
