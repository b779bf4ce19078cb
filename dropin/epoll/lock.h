/*
 * How the locks of eventfds, timers and signalfds are locked and unlocked.
 *
 * A signal handler may call read(2) and write(2) of an eventfd, timer or signalfd.  So a thread
 * blocks all signals while it holds such a lock: a handler that needs the same lock would wait for
 * ever.  The thread also disables cancellation, because functions that it calls under the lock are
 * cancellation points: a cancelled thread would leave the lock locked.
 */
#ifndef EP_LOCK_H
#define EP_LOCK_H

#include <pthread.h>
#include <signal.h>

/* The thread's signal mask and cancellation state before ep_lock, which ep_unlock restores. */
struct ep_locked {
	sigset_t mask;
	int cancel_state;
};

static inline struct ep_locked ep_lock(pthread_mutex_t *lock)
{
	struct ep_locked before;
	sigset_t all;

	sigfillset(&all);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before.cancel_state);
	pthread_sigmask(SIG_SETMASK, &all, &before.mask);
	pthread_mutex_lock(lock);
	return before;
}

static inline void ep_unlock(pthread_mutex_t *lock, struct ep_locked before)
{
	pthread_mutex_unlock(lock);
	pthread_sigmask(SIG_SETMASK, &before.mask, NULL);
	pthread_setcancelstate(before.cancel_state, NULL);
}

#endif
