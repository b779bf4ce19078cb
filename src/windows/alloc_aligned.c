/*
 * Memory for C libraries whose free() does not accept aligned blocks: all blocks are aligned here,
 * and xp_free releases them by the function for such blocks.
 */
#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"

void *xp_alloc_aligned(size_t size)
{
	return xp_realloc(NULL, size);
}

void *xp_zalloc(size_t size)
{
	void *memory = xp_alloc_aligned(size);

	if (memory)
		memset(memory, 0, size);
	return memory;
}

void *xp_realloc(void *memory, size_t size)
{
	int saved = errno;
	void *grown = _aligned_realloc(memory, size ? size : 1, XP_CACHE_LINE);

	errno = saved;
	return grown;
}

void xp_free(void *memory)
{
	_aligned_free(memory);
}
