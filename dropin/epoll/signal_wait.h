/* How the thread of signals.c waits for a signal and accepts the signal, on each system. */
#ifndef EP_SIGNAL_WAIT_H
#define EP_SIGNAL_WAIT_H

#include <signal.h>
#include <string.h>
#ifdef __OpenBSD__
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/event.h>
#include <time.h>

#include "real.h"
#endif

#if defined(__APPLE__) || defined(__OpenBSD__)
#define HAS_SIGWAITINFO 0
#else
#define HAS_SIGWAITINFO 1 /* the system has sigwaitinfo(2) and sigtimedwait(2) */
#endif

#ifdef __OpenBSD__
/*
 * How the thread waits on OpenBSD: in a kqueue, until a signal is pending.  Then the thread calls
 * sigwait(3) with a set that has only this signal.
 *
 * With a set of several signals, of which two are pending, sigwait(3) would accept one, and the
 * default action of the other would end the process: userret() in the kernel looks for signals
 * before it restores the mask.
 *
 * A timer in the kqueue interrupts the wait.  A signal sent to the thread would not do: if the same
 * signal is pending for the process, too, sigwait(3) accepts both together, and one is lost.
 */
/* the thread's kqueue during a wait; -1: none, or none could be made; guarded by signals.lock */
static int signal_queue = -1;
static unsigned waits_ended;
static pthread_cond_t wait_ended = PTHREAD_COND_INITIALIZER;

/*
 * Called before a wait, with signals.lock.  Returns a new kqueue for wait_for_signal, or -1 if none
 * can be made.
 */
static inline int begin_wait(void)
{
	signal_queue = kqueue();
	if (signal_queue >= 0)
		ep_real()->fcntl(signal_queue, F_SETFD, FD_CLOEXEC);
	return signal_queue;
}

/*
 * Called after a wait, with signals.lock: closes the kqueue, and wakes the threads that sleep in
 * interrupt_queue.
 */
static inline void end_wait(void)
{
	if (signal_queue >= 0)
		real_close.close(signal_queue);
	signal_queue = -1;
	waits_ended++;
	pthread_cond_broadcast(&wait_ended);
}

/*
 * In a forked child, which inherits neither the parent's thread nor its kqueue: reset the state of
 * the wait.
 */
static inline void forget_wait(void)
{
	signal_queue = -1;
	wait_ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

/*
 * If the thread waits with a kqueue, end the wait by a timer instead of a signal, and sleep until
 * the thread has closed the kqueue.  `lock` is signals.lock, which the caller holds.  The lock is
 * released during the sleep.
 */
static inline void interrupt_queue(pthread_mutex_t *lock)
{
	struct kevent at_once; /* a timer that expires at once */
	unsigned before = waits_ended;

	EV_SET(&at_once, 0, EVFILT_TIMER, EV_ADD | EV_ONESHOT, 0, 0, NULL);
	if (kevent(signal_queue, &at_once, 1, NULL, 0, NULL) < 0)
		return; /* the thread is not in a wait, or it has no kqueue and looks each 10 ms */
	while (waits_ended == before)
		pthread_cond_wait(&wait_ended, lock);
}

/* Returns the lowest signal of the mask that is pending; 0: none. */
static inline int pending_of(const sigset_t *mask)
{
	sigset_t pending;

	sigpending(&pending);
	for (int number = 1; number < NSIG; number++)
		if (sigismember(mask, number) == 1 && sigismember(&pending, number) == 1)
			return number;
	return 0;
}

/*
 * Sleep until a signal of the mask is pending.  Returns the signal's number; 0: the sleep was
 * interrupted, or has failed.
 */
static inline int sleep_until_pending(int queue, const sigset_t *mask)
{
	/*
	 * The kernel reports a signal shortly before the signal is pending: after a report, check
	 * again after 10 ms at most.
	 */
	static const struct timespec soon = {.tv_nsec = 10000000};
	struct kevent event, changes[NSIG];
	int number, count = 0;

	for (int i = 1; i < NSIG; i++)
		if (sigismember(mask, i) == 1)
			EV_SET(&changes[count++], i, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL);
	if (kevent(queue, changes, count, NULL, 0, NULL) < 0)
		(void)ep_real()->poll(NULL, 0, 10); /* no kqueue: wait 10 ms, check once, return */
	count = 0;
	while ((number = pending_of(mask)) == 0) {
		count = kevent(queue, NULL, 0, &event, 1, count > 0 ? &soon : NULL);
		if (count < 0 || (count > 0 && event.filter == EVFILT_TIMER))
			break;
	}
	return number;
}

/* Wait for a signal of the mask and accept it, like sigwait(3).  Returns 0 or an errno value. */
static inline int wait_for_any(int queue, const sigset_t *mask, int *number)
{
	sigset_t one;

	*number = sleep_until_pending(queue, mask);
	sigemptyset(&one);
	return *number > 0 && sigaddset(&one, *number) == 0 ? sigwait(&one, number) : EINTR;
}
#else
static inline int begin_wait(void)
{
	return -1;
}

static inline void end_wait(void)
{
}

static inline void forget_wait(void)
{
}

#define wait_for_any(queue, mask, number) sigwait(mask, number)
#endif

/*
 * Wait for a signal of the mask and accept it.  queue: the result of begin_wait.  Returns the
 * signal's number, or -1.  Without sigwaitinfo, only the number is stored in *info.
 */
static inline int wait_for_signal(int queue, const sigset_t *mask, siginfo_t *info)
{
	int number = 0;

	(void)queue;
	memset(info, 0, sizeof *info);
#if HAS_SIGWAITINFO
	number = sigwaitinfo(mask, info);
#else
	if (wait_for_any(queue, mask, &number) != 0)
		number = -1;
#endif
	info->si_signo = number;
	return number;
}

/*
 * Keep the kernel from discarding blocked signals of the mask.  Some signals, such as SIGCHLD, are
 * ignored by default, and the BSDs discard an ignored signal even while it is blocked.  For each of
 * these signals that still has the default action, install a handler that does nothing.  Then the
 * signal stays pending until the thread accepts it.  Linux keeps a blocked signal even if it is
 * ignored.
 */
#ifdef __linux__
static inline void keep_from_being_ignored(const sigset_t *mask)
{
	(void)mask;
}
#else
static inline void do_nothing(int number)
{
	(void)number;
}

static inline void keep_from_being_ignored(const sigset_t *mask)
{
	static const int ignored_by_default[] = {
		SIGCHLD, SIGURG, SIGWINCH,
#ifndef __sun /* illumos: SIGIO ends the process by default */
		SIGIO,
#endif
#ifdef SIGINFO
		SIGINFO,
#endif
#ifdef SIGPWR
		SIGPWR,
#endif
	};
	struct sigaction action;

	for (size_t i = 0; i < sizeof ignored_by_default / sizeof *ignored_by_default; i++) {
		int number = ignored_by_default[i];

		if (sigismember(mask, number) != 1 || sigaction(number, NULL, &action) < 0 ||
		    action.sa_flags & SA_SIGINFO || action.sa_handler != SIG_DFL)
			continue;
		action.sa_handler = do_nothing;
		action.sa_flags |= SA_RESTART;
		(void)sigaction(number, &action, NULL);
	}
}
#endif

#endif
