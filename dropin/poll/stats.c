/* Printing the counters. */
#include "stats.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "kernel.h"

struct stats stats;

void stats_reset(void)
{
	_Atomic uint64_t *counters = (_Atomic uint64_t *)&stats;

	for (size_t i = 0; i < sizeof stats / sizeof *counters; i++)
		counters[i] = 0;
}

void stats_print(void)
{
	uint64_t changed = stats.changed;
	uint64_t changes = stats.changes;
	char line[400];
	int len;

	if (stats.calls == 0)
		return;
	len = snprintf(line, sizeof line,
	               "xpoll-poll: %s[%d]: %llu calls, %llu passed through, %llu arrays, "
	               "%llu evicted, %llu changed entries, %llu system calls saved, "
	               "%llu made, %llu full looks, %llu found by them\n",
	               program_invocation_short_name, kernel_pid(),
	               (unsigned long long)stats.calls,
	               (unsigned long long)stats.passed,
	               (unsigned long long)stats.sets,
	               (unsigned long long)stats.evicted,
	               (unsigned long long)changed,
	               (unsigned long long)(changed > changes ? changed - changes : 0),
	               (unsigned long long)stats.syscalls,
	               (unsigned long long)stats.rechecks,
	               (unsigned long long)stats.doubted);
	if (len > 0 && write(STDERR_FILENO, line, (size_t)len) < 0)
		return; /* There is nobody to tell. */
}
