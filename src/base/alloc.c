/* Memory from the C library. */
#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>

void *xp_alloc(size_t size)
{
	int saved = errno;
	void *memory = calloc(1, size);

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
