/*
 * Memory.  The library allocates only by these functions, so that tests can make the n-th
 * allocation fail.
 */
#ifndef XP_BASE_ALLOC_H
#define XP_BASE_ALLOC_H

#include <stddef.h>

/* Returns zeroed memory, or NULL without memory; preserves errno. */
void *xp_zalloc(size_t size);
/* Returns uninitialised memory that begins a cache line, or NULL; preserves errno. */
void *xp_alloc_aligned(size_t size);
/*
 * Like realloc(3), but preserves errno.  The added bytes are not zeroed; if xp_realloc fails and
 * returns NULL, the old block remains.
 */
void *xp_realloc(void *memory, size_t size);
/* Free memory of any of these functions; NULL is harmless. */
void xp_free(void *memory);

#endif
