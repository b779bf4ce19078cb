/*
 * Console events as signals: Ctrl-C is SIGINT, Ctrl-Break SIGBREAK, and the close of the console
 * SIGTERM.
 *
 * The library's handler runs before those that the program has installed earlier.  It counts the
 * event, signals the self-pipes of the queues that want the signal, and returns, so that the
 * program's handlers run.  After the close of the console the system ends the process when all
 * handlers have returned.  So if a queue wants SIGTERM, the library's handler then sleeps: the
 * queue can deliver the signal until the system ends the process, but the program's handlers do not
 * run.
 */
#include "source/signal.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/assert.h"
#include "windows/nt.h"

static pthread_mutex_t console_lock = PTHREAD_MUTEX_INITIALIZER;
static int console_observers; /* sum of all `observers` below; guarded by console_lock */

static struct {
	atomic_int observers; /* number of self-pipes that want the signal */
	_Atomic uint64_t delivered; /* number of events that came while `observers` was not 0 */
} console_signals[XP_SIGNALS];

/* Returns the signal of a console event; 0: none. */
static unsigned console_event_signal(DWORD event)
{
	switch (event) {
	case CTRL_C_EVENT:
		return SIGINT;
	case CTRL_BREAK_EVENT:
		return SIGBREAK;
	case CTRL_CLOSE_EVENT:
		return SIGTERM;
	default:
		return 0;
	}
}

/* The library's handler, which runs on a thread that the system makes for the event. */
static BOOL WINAPI console_event(DWORD event)
{
	unsigned number = console_event_signal(event);

	if (!number || atomic_load(&console_signals[number].observers) == 0)
		return FALSE;
	atomic_fetch_add(&console_signals[number].delivered, 1);
	xp_selfpipes_signal(number);
	if (event == CTRL_CLOSE_EVENT)
		Sleep(INFINITE);
	return FALSE;
}

/* Install the handler, and keep the library loaded, because the handler may run at any time. */
static bool console_handler_install(void)
{
	HMODULE module;

	(void)GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
	                         GET_MODULE_HANDLE_EX_FLAG_PIN,
	                         (LPCWSTR)(uintptr_t)console_event, &module);
	return SetConsoleCtrlHandler(console_event, TRUE);
}

/* Install the handler again, so that it runs before those that the program has installed since. */
static int console_handler_reinstall(void)
{
	if (console_observers > 0)
		(void)SetConsoleCtrlHandler(console_event, FALSE);
	return console_handler_install() ? 0 : -ENOTSUP;
}

int xp_signal_observe(struct xp_selfpipe *selfpipe, unsigned number, uint64_t *losses)
{
	int rc;

	/*
	 * *losses counts how often the program has replaced the handler, which no call of Windows
	 * shows
	 */
	*losses = 0;
	if (number == 0 || number >= XP_SIGNALS)
		return -EINVAL;
	if (number != SIGINT && number != SIGBREAK && number != SIGTERM)
		return -ENOTSUP;
	pthread_mutex_lock(&console_lock);
	rc = console_handler_reinstall();
	if (rc == 0 && xp_selfpipe_want(selfpipe, number, true)) {
		console_observers++;
		atomic_fetch_add(&console_signals[number].observers, 1);
	}
	pthread_mutex_unlock(&console_lock);
	return rc;
}

int xp_signal_reinstall(unsigned number)
{
	int rc = 0;

	if (number == 0 || number >= XP_SIGNALS)
		return -EINVAL;
	if (pthread_mutex_trylock(&console_lock) != 0)
		return -EBUSY;
	if (console_observers > 0)
		rc = console_handler_reinstall();
	pthread_mutex_unlock(&console_lock);
	return rc;
}

/*
 * Returns false, because the system does not show which handler comes first: the caller has to
 * install the library's handler again each time.
 */
bool xp_signal_observe_is_noop(unsigned number)
{
	(void)number;
	return false;
}

/* The queue calls this only after a signal has interrupted a wait, which does not happen here. */
bool xp_signal_any_is_handled(void)
{
	return true;
}

int xp_signal_action(unsigned number, const struct sigaction *action,
                     struct sigaction *before)
{
	(void)number;
	(void)action;
	(void)before;
	return -ENOTSUP;
}

void xp_signal_unobserve(struct xp_selfpipe *selfpipe, unsigned number)
{
	pthread_mutex_lock(&console_lock);
	if (xp_selfpipe_want(selfpipe, number, false)) {
		XP_ASSERT(console_observers > 0);
		atomic_fetch_sub(&console_signals[number].observers, 1);
		if (--console_observers == 0)
			(void)SetConsoleCtrlHandler(console_event, FALSE);
	}
	pthread_mutex_unlock(&console_lock);
}

uint64_t xp_signal_delivered(unsigned number)
{
	return number < XP_SIGNALS
		? atomic_load(&console_signals[number].delivered) : 0;
}

/* Returns 0, because no call shows whether the program has replaced the handler. */
uint64_t xp_signal_handler_losses(unsigned number)
{
	(void)number;
	return 0;
}

void xp_signal_init_process(void)
{
	xp_selfpipes_init_process();
}
