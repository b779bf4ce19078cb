/*
 * In front of sigaction(2) and signal(3): in FreeBSD a queue observes a signal
 * whatever the program does to its action.
 *
 * Only the shared library has these: in a static program nothing is behind
 * them.  They may be called by signal handlers.
 */
#include <errno.h>
#include <signal.h>

#include "kq.h"

KQ_EXPORT kq_handler *bsd_signal(int number, kq_handler *handler);
KQ_EXPORT kq_handler *__sysv_signal(int number, kq_handler *handler);

static void kq_action_set(int number)
{
	int saved = errno;

	if (number < 1 || number > 64 ||
	    !(atomic_load(&kq_signals_ever) >> (number - 1) & 1))
		return;
	/* If this is not the moment, the next kevent() does it. */
	(void)xpoll_signal_changed(number);
	errno = saved;
}

KQ_EXPORT int sigaction(int number, const struct sigaction *action,
                        struct sigaction *before)
{
	int rc;

	if (!kq_real.sigaction)
		kq_find_real();
	rc = kq_real.sigaction(number, action, before);
	if (rc == 0 && action)
		kq_action_set(number);
	return rc;
}

KQ_EXPORT kq_handler *signal(int number, kq_handler *handler)
{
	kq_handler *before;

	if (!kq_real.signal)
		kq_find_real();
	before = kq_real.signal(number, handler);
	if (before != SIG_ERR)
		kq_action_set(number);
	return before;
}

KQ_EXPORT kq_handler *bsd_signal(int number, kq_handler *handler)
{
	return signal(number, handler);
}

/* signal(3) of programs that ask for System V's or X/Open's. */
KQ_EXPORT kq_handler *__sysv_signal(int number, kq_handler *handler)
{
	kq_handler *before;

	if (!kq_real.sysv_signal)
		kq_find_real();
	before = kq_real.sysv_signal(number, handler);
	if (before != SIG_ERR)
		kq_action_set(number);
	return before;
}
