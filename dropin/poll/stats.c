/* Printing the counters. */
#include "stats.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"

struct stats stats;

void stats_reset(void)
{
	_Atomic uint64_t *counters = (_Atomic uint64_t *)&stats;

	for (size_t i = 0; i < sizeof stats / sizeof *counters; i++)
		counters[i] = 0;
}

/* If nobody reads it the program ends as it would have without us. */
static void say(const char *line, size_t len)
{
	struct timespec now = {0};
	sigset_t broken_pipe;
	sigset_t pending;
	sigset_t mask;

	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE);
	sigemptyset(&pending);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &broken_pipe, &mask);
	if (write(STDERR_FILENO, line, len) < 0 && errno == EPIPE &&
	    !sigismember(&pending, SIGPIPE))
		sigtimedwait(&broken_pipe, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void stats_print(void)
{
	uint64_t changed = stats.changed;
	uint64_t changes = stats.changes;
	char line[512];
	int len;

	if (stats.calls == 0)
		return;
	len = snprintf(line, sizeof line,
	               "xpoll-poll: %.64s[%d]: %llu calls, %llu passed through, %llu arrays, "
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
	               (unsigned long long)stats.missed);
	if (len > 0 && (size_t)len < sizeof line)
		say(line, (size_t)len);
}
