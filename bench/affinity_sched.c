/*
 * Staying on one processor, where sched_setaffinity(2) can see to it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sched.h>

#include "bench.h"

int bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu >= CPU_SETSIZE)
		return -EINVAL;
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof set, &set) < 0 ? -errno : 0;
}
