/*
 * xpoll info: the system.  It has no limits that matter.
 */
#include "bench.h"
#include "info.h"

void info_system(struct info_text *to)
{
	struct bench_machine machine;

	bench_machine_get(&machine);
	info_say(to, "%s", machine.kernel);
}

void info_met(int filter, int error, struct info_text *to)
{
	(void)filter, (void)error, (void)to;
}

void info_limits(void (*each)(const char *label, const char *name, const char *value))
{
	(void)each;
}
