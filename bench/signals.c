/*
 * Signals while measuring: SIGINT and SIGTERM ask for a tidy end, and a
 * watchdog notices a wait that does not return.
 *
 * The measured loops wait without a timeout, as the programs do for which they
 * stand.  If a back end loses an event they would hang for ever, so every ten
 * seconds SIGALRM looks whether anything has been done since; if not, the
 * interrupted wait gives up and the runner reports it.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "bench.h"

#define WATCHDOG_SECONDS 10

static volatile sig_atomic_t signals_stop;
static volatile sig_atomic_t signals_hang;
static volatile sig_atomic_t signals_alive;
static struct sigaction signals_old[3];
static const int signals_numbers[3] = { SIGINT, SIGTERM, SIGALRM };

static void signals_handle(int number)
{
	if (number != SIGALRM)
		signals_stop = number;
	else if (signals_alive == 0)
		signals_hang = 1;
	signals_alive = 0;
}

static void signals_set_watchdog(int seconds)
{
	struct itimerval every;

	memset(&every, 0, sizeof every);
	every.it_interval.tv_sec = seconds;
	every.it_value.tv_sec = seconds;
	(void)setitimer(ITIMER_REAL, &every, NULL); /* cannot fail with these */
}

void bench_signals_install(void)
{
	struct sigaction action;

	signals_stop = 0;
	signals_hang = 0;
	signals_alive = 1;
	memset(&action, 0, sizeof action);
	action.sa_handler = signals_handle; /* no SA_RESTART: waits must end */
	sigemptyset(&action.sa_mask);
	for (int i = 0; i < 3; i++)
		(void)sigaction(signals_numbers[i], &action, &signals_old[i]);
	signals_set_watchdog(WATCHDOG_SECONDS);
}

void bench_signals_restore(void)
{
	signals_set_watchdog(0);
	for (int i = 0; i < 3; i++)
		(void)sigaction(signals_numbers[i], &signals_old[i], NULL);
}

void bench_signals_progress(void)
{
	signals_alive = 1;
}

int bench_interrupted(void)
{
	return signals_stop;
}

bool bench_stalled(void)
{
	return signals_hang != 0;
}

bool bench_goes_on(int error)
{
	return error == EINTR && signals_stop == 0 && signals_hang == 0;
}
