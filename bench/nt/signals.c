/*
 * While measuring: Ctrl-C and Ctrl-Break ask for a tidy end, and a watchdog
 * notices a wait that does not return.  Nothing interrupts such a wait here, so
 * that is the end of the process.
 */
#include <windows.h>

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "bench.h"

#define WATCHDOG_MS 10000

static atomic_int signals_stop;
static atomic_bool signals_alive;
static HANDLE signals_timer;

static BOOL WINAPI signals_console(DWORD event)
{
	if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT)
		return FALSE;
	atomic_store(&signals_stop, SIGINT);
	return TRUE;
}

/* On a thread of the system. */
static VOID CALLBACK signals_watch(void *none, BOOLEAN timed_out)
{
	(void)none, (void)timed_out;
	if (atomic_exchange(&signals_alive, false))
		return;
	fputs("xpoll bench: stalled: a wait did not return though an event was due\n",
	      stderr);
	fflush(stderr);
	TerminateProcess(GetCurrentProcess(), 1);
}

void bench_signals_install(void)
{
	atomic_store(&signals_stop, 0);
	atomic_store(&signals_alive, true);
	SetConsoleCtrlHandler(signals_console, TRUE);
	/* Without one nobody watches: no reason not to measure. */
	if (!CreateTimerQueueTimer(&signals_timer, NULL, signals_watch, NULL, WATCHDOG_MS,
	                           WATCHDOG_MS, 0))
		signals_timer = NULL;
}

void bench_signals_restore(void)
{
	if (signals_timer != NULL)
		DeleteTimerQueueTimer(NULL, signals_timer, INVALID_HANDLE_VALUE);
	signals_timer = NULL;
	SetConsoleCtrlHandler(signals_console, FALSE);
}

void bench_signals_progress(void)
{
	atomic_store(&signals_alive, true);
}

int bench_interrupted(void)
{
	return atomic_load(&signals_stop);
}

bool bench_stalled(void)
{
	return false; /* signals_watch ends the process then */
}

bool bench_goes_on(int error)
{
	return error == EINTR && bench_interrupted() == 0;
}
