/*
 * Decides which actions of a signal can have our handler in front of them (signal_handler.c), so
 * that signals are counted and nothing else changes for the program.
 */
#ifndef XP_POSIX_SIGNAL_RULES_H
#define XP_POSIX_SIGNAL_RULES_H

#include <signal.h>
#include <stdbool.h>

#include "source/signal.h"

/* Returns true if the action calls a handler. */
static inline bool action_handles(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

/* Returns true if two actions have the same handler, perhaps with other flags or another mask. */
static inline bool action_same_handler(const struct sigaction *a, const struct sigaction *b)
{
	return a->sa_handler == b->sa_handler;
}

/* Returns true if two actions have the same handler, flags and mask. */
static inline bool action_same(const struct sigaction *a, const struct sigaction *b)
{
	/* Compare signal by signal: the C library sets only a part of the bytes of the mask. */
	for (int number = 1; number < XP_SIGNALS; number++)
		if (sigismember(&a->sa_mask, number) != sigismember(&b->sa_mask, number))
			return false;
	return action_same_handler(a, b) && a->sa_flags == b->sa_flags;
}

/*
 * Returns true if the default action of the signal has no effect on a process that is not stopped.
 */
static inline bool signal_harmless(unsigned number)
{
#if defined(SIGINFO) && !defined(__linux__) /* BSD, macOS and illumos */
	if (number == SIGINFO)
		return true;
#ifndef __sun /* illumos: SIGIO is SIGPOLL, which ends the process by default */
	if (number == SIGIO)
		return true;
#endif
#endif
	return number == SIGCHLD || number == SIGURG || number == SIGWINCH ||
		number == SIGCONT;
}

/*
 * Returns true if ignoring the signal (SIG_IGN) has an effect in the kernel that a handler cannot
 * have.  A fault that is ignored ends the process, but a handler would return to the faulty
 * instruction for ever.  Terminal access of a background process fails or succeeds with SIG_IGN,
 * but would be restarted for ever with a handler.
 */
static inline bool signal_ignore_has_effect(unsigned number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGFPE ||
		number == SIGILL || number == SIGTRAP || number == SIGSYS ||
		number == SIGTTIN || number == SIGTTOU;
}

/*
 * Returns true if our handler can replace this action without a change for the program: our handler
 * calls the program's handler, if the action has one, and otherwise does nothing that the program
 * notices.
 */
static inline bool action_observable(unsigned number, const struct sigaction *action)
{
	if (action_handles(action))
		return true;
	return action->sa_handler == SIG_DFL ? signal_harmless(number)
		: !signal_ignore_has_effect(number);
}

/* Returns the action that installs the library's handler, with the flags of `previous`. */
static inline struct sigaction action_to_install(unsigned number,
                                                 void (*handler)(int, siginfo_t *, void *),
                                                 const struct sigaction *previous)
{
	struct sigaction action = *previous;

	action.sa_sigaction = handler;
	action.sa_flags |= SA_SIGINFO;
	if (action_handles(previous)) {
		/*
		 * With SA_RESETHAND the kernel would remove our handler.  If the default action has
		 * no effect, keep our handler, which then calls the program's only once.
		 */
		if (signal_harmless(number))
			action.sa_flags &= ~SA_RESETHAND;
		return action;
	}
	sigemptyset(&action.sa_mask);
	action.sa_flags &= ~SA_RESETHAND;
	/*
	 * The program has no handler: let the library's handler restart calls, and use the
	 * alternate stack if there is one.
	 */
	action.sa_flags |= SA_RESTART | SA_ONSTACK;
	if (number == SIGCHLD && previous->sa_handler == SIG_IGN)
		action.sa_flags |= SA_NOCLDWAIT;
	return action;
}

#endif
