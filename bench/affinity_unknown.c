/*
 * Staying on one processor, where there is no way to ask for it.
 */
#include <errno.h>

#include "bench.h"

int bench_pin(int cpu)
{
	(void)cpu;
	return -ENOTSUP;
}
