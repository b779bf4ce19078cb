/*
 * In front of sigaction(2) and signal(3): in FreeBSD a queue observes a signal
 * whatever the program does to its action.
 *
 * Only the shared library has these: in a static program nothing is behind
 * them.  They may be called by signal handlers, and by a sanitizer before
 * anything else has begun, so this file is never instrumented and finds by
 * itself what is behind it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "kq.h"

typedef void front_handler(int);
typedef int front_action(int, const struct sigaction *, struct sigaction *);
typedef front_handler *front_simple(int, front_handler *);

KQ_EXPORT front_handler *bsd_signal(int number, front_handler *handler);
KQ_EXPORT front_handler *__sysv_signal(int number, front_handler *handler);

static struct {
	front_action *_Atomic action;
	front_simple *_Atomic simple, *_Atomic sysv;
} front;

/* Pointers to functions need a copy. */
static void *front_find(const char *name, void *pointer)
{
	void *found = dlsym(RTLD_NEXT, name);

	memcpy(pointer, &found, sizeof found);
	return found;
}

/* When the library is loaded, or when somebody cannot wait for that. */
__attribute__((constructor)) static void front_find_all(void)
{
	front_action *action;
	front_simple *simple;

	if (front_find("sigaction", &action))
		atomic_store(&front.action, action);
	if (front_find("signal", &simple))
		atomic_store(&front.simple, simple);
	if (front_find("__sysv_signal", &simple))
		atomic_store(&front.sysv, simple);
}

static void front_set(int number)
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

	if (!atomic_load(&front.action))
		front_find_all();
	rc = atomic_load(&front.action)(number, action, before);
	if (rc == 0 && action)
		front_set(number);
	return rc;
}

static front_handler *front_signal(front_simple *_Atomic *real, int number,
                                   front_handler *handler)
{
	front_handler *before;

	if (!atomic_load(real))
		front_find_all();
	before = atomic_load(real)(number, handler);
	if (before != SIG_ERR)
		front_set(number);
	return before;
}

KQ_EXPORT front_handler *signal(int number, front_handler *handler)
{
	return front_signal(&front.simple, number, handler);
}

KQ_EXPORT front_handler *bsd_signal(int number, front_handler *handler)
{
	return front_signal(&front.simple, number, handler);
}

/* signal(3) of programs that ask for System V's or X/Open's. */
KQ_EXPORT front_handler *__sysv_signal(int number, front_handler *handler)
{
	return front_signal(&front.sysv, number, handler);
}
