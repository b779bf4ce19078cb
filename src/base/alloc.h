/* Memory.  All allocations go through these functions, so that tests can make the n-th fail. */
#ifndef XP_BASE_ALLOC_H
#define XP_BASE_ALLOC_H

#include <stddef.h>

/* Returns zeroed memory, or NULL; preserves errno. */
void *xp_alloc(size_t size);
/* Returns uninitialised memory, aligned to a cache line. */
void *xp_alloc_lines(size_t size);
/* Like realloc(3): the new part is not zeroed; on failure, NULL, the old block stays. */
void *xp_realloc(void *memory, size_t size);
void xp_free(void *memory);

#endif
