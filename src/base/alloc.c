/* Allocates from the heap of the C library, and requests huge pages for large tables. */
#include "base/alloc.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/compiler.h"

/*
 * xp_zalloc and xp_alloc_aligned request huge pages for tables of at least this many bytes.  A
 * table of this size covers at least one whole huge page of 2 MiB (x86-64), at whatever address it
 * begins.
 */
#define LARGE ((size_t)4 << 20)

/*
 * Ask the kernel to map a large table by huge pages.  With small pages each random access misses
 * the TLB as well as the cache, and the page faults take longer than filling the table.  The kernel
 * may ignore the request, so errors have no effect either.
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

void *xp_zalloc(size_t size)
{
	int saved = errno;
	void *memory = calloc(1, size);

	if (memory && size >= LARGE)
		want_huge_pages(memory, size);
	errno = saved;
	return memory;
}

void *xp_alloc_aligned(size_t size)
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
