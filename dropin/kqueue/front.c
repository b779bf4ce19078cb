/*
 * Replaces the C library's functions that set actions or masks of signals: sigaction(2), signal(3),
 * sigprocmask(2) and the rarer ones below.  In FreeBSD a queue counts a signal whatever the program
 * does to the signal's action or to its own mask, and the program finds both unchanged.  xpoll may
 * have installed a handler of its own to count the signal, so it has to see these calls.
 *
 * Only the shared library exports these functions: a static program has no second definition that
 * they could call.  Signal handlers may call them, and a sanitizer before anything is initialised,
 * so this file is never instrumented, and finds the C library's functions by itself.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "kq.h"

typedef void front_handler(int);
typedef int front_action(int, const struct sigaction *, struct sigaction *);
typedef front_handler *front_simple(int, front_handler *);
typedef int front_interrupt(int, int);
typedef int front_mask(int, const sigset_t *, sigset_t *);
typedef int front_number(int);

EXPORT front_handler *bsd_signal(int number, front_handler *handler);
EXPORT front_handler *__sysv_signal(int number, front_handler *handler);
EXPORT front_handler *sigset(int number, front_handler *handler);
EXPORT int sigblock(int mask);
EXPORT int sigsetmask(int mask);
EXPORT int sighold(int number);
EXPORT int sigignore(int number);
int kq_sigmask(int how, const sigset_t *set, sigset_t *before);

/*
 * Indices of `rare_names`: rarely used functions with one argument of type int, which is a signal
 * mask for the first two and a signal number for the others.
 */
enum { RARE_SIGBLOCK, RARE_SIGSETMASK, RARE_SIGHOLD, RARE_SIGIGNORE, RARE_CALLS };
static const char *const rare_names[RARE_CALLS] = {
	"sigblock", "sigsetmask", "sighold", "sigignore",
};

static struct {
	/*
	 * the C library's functions; NULL before front_find_all, and if the C library lacks the
	 * function
	 */
	front_action *_Atomic real_sigaction;
	front_simple *_Atomic real_signal, *_Atomic real_sysv_signal, *_Atomic real_sigset;
	front_number *_Atomic real_rare[RARE_CALLS];
	front_interrupt *_Atomic real_siginterrupt;
	front_mask *_Atomic real_pthread_sigmask, *_Atomic real_sigprocmask;
	/*
	 * the program's calls of sigaction, signal, sigprocmask and pthread_sigmask reach this
	 * library; those of the rarer functions are assumed to do so, too
	 */
	atomic_bool sees_calls;
	/*
	 * a counter that grows when the next kevent(2) has to register the signals with xpoll
	 * again, mostly because a call may have changed an action or a mask without xpoll
	 */
	atomic_uint changes;
	/* bit set of the signals for which siginterrupt(3) was called */
	atomic_uint_least64_t interrupts;
} front;

/*
 * Look up the C library's function of this name and store its address in *pointer, by a copy,
 * because C cannot convert a void * to a pointer to a function.  Returns NULL if there is none.
 */
static void *front_find(const char *name, void *pointer)
{
	void *found = dlsym(RTLD_NEXT, name);

	memcpy(pointer, &found, sizeof found);
	return found;
}

/* Returns true if the program's calls of this name reach this library's function. */
static bool front_is_first(const char *name)
{
	Dl_info ours, found;
	void *first = dlsym(RTLD_DEFAULT, name);

	return first && dladdr(first, &found) && dladdr(&front, &ours) &&
		found.dli_fbase == ours.dli_fbase;
}

/* Look up all functions: when the library is loaded, or at the first call if that is earlier. */
__attribute__((constructor)) static void front_find_all(void)
{
	front_action *action;
	front_simple *simple;
	front_interrupt *interrupt;
	front_mask *mask;
	front_number *number;

	if (front_find("sigaction", &action))
		atomic_store(&front.real_sigaction, action);
	if (front_find("signal", &simple))
		atomic_store(&front.real_signal, simple);
	if (front_find("__sysv_signal", &simple))
		atomic_store(&front.real_sysv_signal, simple);
	if (front_find("siginterrupt", &interrupt))
		atomic_store(&front.real_siginterrupt, interrupt);
	if (front_find("sigprocmask", &mask))
		atomic_store(&front.real_sigprocmask, mask);
	if (front_find("pthread_sigmask", &mask))
		atomic_store(&front.real_pthread_sigmask, mask);
	if (front_find("sigset", &simple))
		atomic_store(&front.real_sigset, simple);
	for (int i = 0; i < RARE_CALLS; i++)
		if (front_find(rare_names[i], &number))
			atomic_store(&front.real_rare[i], number);
	atomic_store(&front.sees_calls,
	             front_is_first("sigaction") && front_is_first("signal") &&
	             front_is_first("sigprocmask") && front_is_first("pthread_sigmask"));
}

/* Returns the bit of a signal in kq_signals_ever and front.interrupts; 0: no such signal. */
static uint64_t front_bit(int number)
{
	return number < 1 || number > 64 ? 0 : UINT64_C(1) << (number - 1);
}

/*
 * Returns true if the signal is or was registered in any queue: then xpoll's handler may be
 * installed, and calls that set the action have to go through xpoll_sigaction.
 */
static bool front_ever_registered(int number)
{
	return atomic_load(&kq_signals_ever) & front_bit(number);
}

/*
 * The C library's sigaction(2), for calls of xpoll itself (src/posix/sys_libc.c), which must not
 * reach the function that is exported below.
 */
int kq_sigaction(int number, const struct sigaction *action,
                 struct sigaction *before)
{
	if (!atomic_load(&front.real_sigaction))
		front_find_all();
	return atomic_load(&front.real_sigaction)(number, action, before);
}

EXPORT int sigaction(int number, const struct sigaction *action,
                        struct sigaction *before)
{
	return front_ever_registered(number) ? xpoll_sigaction(number, action, before)
	                              : kq_sigaction(number, action, before);
}

/*
 * Set a handler with these flags, like the signal(3) functions of the C library, through xpoll.
 * Returns the previous handler, or SIG_ERR with errno.
 */
static front_handler *front_set(int number, front_handler *handler, int flags)
{
	struct sigaction action = {.sa_flags = flags}, before;

	action.sa_handler = handler;
	sigemptyset(&action.sa_mask);
	if (handler == SIG_ERR)
		errno = EINVAL;
	else if (xpoll_sigaction(number, &action, &before) == 0)
		return before.sa_handler;
	return SIG_ERR;
}

EXPORT front_handler *signal(int number, front_handler *handler)
{
	bool interrupts = atomic_load(&front.interrupts) & front_bit(number);

	if (front_ever_registered(number))
		return front_set(number, handler, interrupts ? 0 : SA_RESTART);
	if (!atomic_load(&front.real_signal))
		front_find_all();
	return atomic_load(&front.real_signal)(number, handler);
}

EXPORT front_handler *bsd_signal(int number, front_handler *handler)
{
	return signal(number, handler);
}

/*
 * Called as signal(3) by programs built for System V or X/Open; with glibc the handler runs once.
 */
EXPORT front_handler *__sysv_signal(int number, front_handler *handler)
{
#ifdef __GLIBC__
	if (front_ever_registered(number))
		return front_set(number, handler,
		                 (int)(SA_RESETHAND | SA_NODEFER));
#else
	if (front_ever_registered(number))
		return signal(number, handler);
#endif
	if (!atomic_load(&front.real_sysv_signal))
		front_find_all();
	return atomic_load(&front.real_sysv_signal)(number, handler);
}

/*
 * Clears or sets SA_RESTART of the present handler, and of handlers that signal(3) installs later.
 */
EXPORT int siginterrupt(int number, int interrupts)
{
	struct sigaction action;
	int rc;

	if (!atomic_load(&front.real_siginterrupt))
		front_find_all();
	rc = atomic_load(&front.real_siginterrupt)(number, interrupts);
	if (rc < 0)
		return rc;
	if (interrupts)
		atomic_fetch_or(&front.interrupts, front_bit(number));
	else
		atomic_fetch_and(&front.interrupts, ~front_bit(number));
	if (!front_ever_registered(number) || xpoll_sigaction(number, NULL, &action))
		return rc;
	action.sa_flags = interrupts ? action.sa_flags & ~SA_RESTART
	                             : action.sa_flags | SA_RESTART;
	return xpoll_sigaction(number, &action, NULL);
}

/* --- Changes that are only counted: the next kevent(2) registers the signals again ----------- */

uint64_t kq_signals_stamp(void)
{
	static atomic_uint last;
	static _Thread_local unsigned thread;

	if (!atomic_load(&front.sees_calls))
		return 0;
	/*
	 * Give each thread a number from a counter.  An address would not do, because that of an
	 * ended thread may be used again.
	 */
	if (!thread)
		thread = atomic_fetch_add(&last, 1) + 1;
	return (uint64_t)thread << 32 | atomic_load(&front.changes);
}

void kq_signals_changed(void)
{
	atomic_fetch_add(&front.changes, 1);
}

/*
 * Count a call of the C library, also a failed one, that may have blocked signals or set an action
 * without xpoll, if any signal was ever registered: the next kevent(2) then registers the signals
 * again.  Returns rc, the result of the call.
 */
static int front_count_change(int rc)
{
	if (atomic_load(&kq_signals_ever))
		kq_signals_changed();
	return rc;
}

/* The C library's pthread_sigmask(3), for this library's own calls, which must not be counted. */
int kq_sigmask(int how, const sigset_t *set, sigset_t *before)
{
	if (!atomic_load(&front.real_pthread_sigmask))
		front_find_all();
	return atomic_load(&front.real_pthread_sigmask)(how, set, before);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
	int rc = kq_sigmask(how, set, before);

	return set && how != SIG_UNBLOCK ? front_count_change(rc) : rc;
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
	int rc;

	if (!atomic_load(&front.real_sigprocmask))
		front_find_all();
	rc = atomic_load(&front.real_sigprocmask)(how, set, before);
	return set && how != SIG_UNBLOCK ? front_count_change(rc) : rc;
}

/*
 * Call the C library's function rare_names[name], for example sighold for RARE_SIGHOLD.  Such a
 * function changes a mask or an action without xpoll, so count the call (front_count_change).
 */
static int front_call(int name, int argument)
{
	front_number *call;

	if (!atomic_load(&front.real_rare[name]))
		front_find_all();
	call = atomic_load(&front.real_rare[name]);
	if (call)
		return front_count_change(call(argument));
	errno = ENOSYS;
	return -1;
}

EXPORT int sigblock(int mask)
{
	return front_call(RARE_SIGBLOCK, mask);
}

EXPORT int sigsetmask(int mask)
{
	return front_call(RARE_SIGSETMASK, mask);
}

EXPORT int sighold(int number)
{
	return front_call(RARE_SIGHOLD, number);
}

EXPORT int sigignore(int number)
{
	return front_call(RARE_SIGIGNORE, number);
}

EXPORT front_handler *sigset(int number, front_handler *handler)
{
	front_simple *call;
	front_handler *before = SIG_ERR;

	if (!atomic_load(&front.real_sigset))
		front_find_all();
	call = atomic_load(&front.real_sigset);
	if (call)
		before = call(number, handler);
	else
		errno = ENOSYS;
	(void)front_count_change(0);
	return before;
}
