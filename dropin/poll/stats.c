/* Resets and prints the counters of stats.h. */
#include "stats.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
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
	char line[512];
	sigset_t broken_pipe;
	int len;

	if (stats.calls == 0)
		return;
	len = snprintf(line, sizeof line,
	               "xpoll-poll: %.64s[%d]: %llu calls, %llu passed through, %llu arrays, "
	               "%llu evicted, %llu system calls made, %llu closes found late\n",
	               program_invocation_short_name, kernel_pid(),
	               (unsigned long long)stats.calls, (unsigned long long)stats.passed,
	               (unsigned long long)stats.sets, (unsigned long long)stats.evicted,
	               (unsigned long long)stats.syscalls,
	               (unsigned long long)stats.late_closes);
	/*
	 * Block SIGPIPE: a write to a stderr that is a pipe without a reader must not end the
	 * program by a signal.
	 */
	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &broken_pipe, NULL);
	if (len > 0 && write(STDERR_FILENO, line, (size_t)len) < 0)
		return;
}
