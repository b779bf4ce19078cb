/*
 * Memory.  One seam, so that tests can make the n-th allocation fail.
 */
#ifndef XP_BASE_ALLOC_H
#define XP_BASE_ALLOC_H

#include <stddef.h>

/* Zeroed memory, or NULL; errno stays as it was. */
void *xp_alloc(size_t size);
/* Whatever its bytes are, beginning with a cache line. */
void *xp_alloc_lines(size_t size);
/* As realloc: the new part is not zeroed; NULL leaves the old block alone. */
void *xp_realloc(void *memory, size_t size);
void xp_free(void *memory);

#endif
