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
/* Like realloc(3): the new part is not zeroed; on failure, NULL, the old block stays. */
void *xp_realloc(void *memory, size_t size);
void xp_free(void *memory);

#endif
