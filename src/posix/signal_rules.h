/* Which actions a handler may be put in front of, and none would notice. */
#ifndef XP_POSIX_SIGNAL_RULES_H
#define XP_POSIX_SIGNAL_RULES_H

#include <signal.h>
#include <stdbool.h>

static inline bool action_handles(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static inline bool action_same(const struct sigaction *a, const struct sigaction *b)
{
	return a->sa_handler == b->sa_handler;
}

/* Does the default action leave the process as it is? */
static inline bool signal_harmless(unsigned number)
{
#if defined(SIGINFO) && !defined(__linux__) /* BSD */
	if (number == SIGINFO || number == SIGIO)
		return true;
#endif
	return number == SIGCHLD || number == SIGURG || number == SIGWINCH ||
		number == SIGCONT;
}

/*
 * Does the kernel itself act otherwise for SIG_IGN?  A fault that is ignored
 * ends the process, where a handler would return to the fault for ever; a
 * read from, or write to, the terminal by a background process fails or
 * succeeds, where a handler would have it restarted for ever.
 */
static inline bool signal_ignored_so(unsigned number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGFPE ||
		number == SIGILL || number == SIGTRAP || number == SIGSYS ||
		number == SIGTTIN || number == SIGTTOU;
}

/* Could a handler be put in front, and nothing but the count be different? */
static inline bool action_observable(unsigned number, const struct sigaction *action)
{
	if (action_handles(action))
		return true;
	return action->sa_handler == SIG_DFL ? signal_harmless(number)
		: !signal_ignored_so(number);
}

#endif
