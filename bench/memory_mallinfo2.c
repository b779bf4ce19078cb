/*
 * Memory in use, as glibc's allocator reports.
 */
#include <malloc.h>

#include "bench.h"

uint64_t bench_memory_used(void)
{
	struct mallinfo2 info = mallinfo2();

	return (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
}
