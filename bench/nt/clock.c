/*
 * Time is the clock's: what a process has used is counted in ticks of 15 ms.
 */
#include <windows.h>

#include "bench.h"

int64_t bench_now_ns(void)
{
	LARGE_INTEGER frequency;
	LARGE_INTEGER count;

	QueryPerformanceFrequency(&frequency);
	QueryPerformanceCounter(&count);
	return count.QuadPart / frequency.QuadPart * 1000000000 +
	       count.QuadPart % frequency.QuadPart * 1000000000 / frequency.QuadPart;
}

bool bench_by_processor(const struct bench_workload *workload)
{
	(void)workload;
	return false;
}

int64_t bench_elapsed_ns(const struct bench_workload *workload)
{
	(void)workload;
	return bench_now_ns();
}
