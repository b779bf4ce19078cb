/*
 * For tests in which a program sets its own actions for a signal that SIGNAL
 * observes.
 */
#ifndef SOURCE_SIGNAL_KIT_H
#define SOURCE_SIGNAL_KIT_H

#include "xt.h"

#define SIGNAL XPOLL_FILT_SIGNAL

static inline int observe(struct xpoll *queue, int number)
{
	return xt_change(queue, (uint64_t)number, SIGNAL, XPOLL_ADD, 0, 0,
	                 NULL);
}

/* Returns the number of deliveries that an event reports; 0: no event; -1: another event. */
static inline int64_t count_of(struct xpoll *queue, int number)
{
	struct xpoll_event event;
	int rc = xpoll_event(queue, NULL, 0, &event, 1, 0);

	if (rc != 1)
		return rc;
	return event.ident == (uint64_t)number ? event.data : -1;
}

static volatile sig_atomic_t calls; /* number of calls of on_plain */

static inline void on_plain(int number)
{
	(void)number;
	calls++;
}

static inline struct sigaction action(void (*handler)(int), int flags)
{
	struct sigaction made = {.sa_flags = flags};

	made.sa_handler = handler;
	(void)sigemptyset(&made.sa_mask);
	return made;
}

/* Set the signal's action, and reset `calls`. */
static inline void put(int number, void (*handler)(int), int flags)
{
	struct sigaction made = action(handler, flags);

	calls = 0;
	XT_EQ(sigaction(number, &made, NULL), 0);
}

static inline void forget(int number)
{
	(void)signal(number, SIG_DFL);
}

#endif
