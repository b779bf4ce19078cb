/*
 * xpoll info: the system.  It has no limits that matter.
 */
#include <stdio.h>

#include "bench.h"
#include "info.h"

void info_print_system(void)
{
	struct bench_machine machine;

	bench_machine_get(&machine);
	printf("on %s\n", machine.kernel);
}

void info_print_met(int filter, int error)
{
	(void)filter, (void)error;
}

void info_print_limits(void)
{
}
