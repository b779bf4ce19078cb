/*
 * Holding back signals.
 *
 * A fault in the program's array, or in what its garbage collector has protected,
 * ends the process if its signal is blocked; in a sandbox SIGSYS stands for the
 * system calls that it refuses.
 */
#include "signals.h"

#include <errno.h>

static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};

void signals_hold(sigset_t *mask)
{
	int saved = errno;
	sigset_t held;

	sigfillset(&held);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		sigdelset(&held, faults[i]);
	(void)pthread_sigmask(SIG_BLOCK, &held, mask); /* None of its errors is possible. */
	errno = saved;
}

void signals_release(const sigset_t *mask)
{
	int saved = errno;

	(void)pthread_sigmask(SIG_SETMASK, mask, NULL);
	errno = saved;
}
