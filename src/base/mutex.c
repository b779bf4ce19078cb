/* The parts of the queue's lock that are not on the fast path. */
#include "base/mutex.h"

/*
 * Number of tries before a thread sleeps, chosen by bench threads.  The lock is held for a
 * microsecond, and a sleep with its wake-up takes ten.
 */
enum { TRIES_MOST = 400 };

int xp_mutex_init(struct xp_mutex *mutex)
{
	mutex->taken = false;
	mutex->inside = false;
	return -pthread_mutex_init(&mutex->mutex, NULL);
}

void xp_mutex_fini(struct xp_mutex *mutex)
{
	pthread_mutex_destroy(&mutex->mutex);
}

void xp_mutex_lock_busy(struct xp_mutex *mutex)
{
	for (int tries = 0; tries < TRIES_MOST; tries++) {
		xp_relax();
		if (pthread_mutex_trylock(&mutex->mutex) == 0)
			return;
	}
	pthread_mutex_lock(&mutex->mutex);
}

void xp_mutex_wait(struct xp_mutex *mutex, pthread_cond_t *condition)
{
	int state;

	XP_ASSERT(mutex->taken);
	mutex->inside = false;
	mutex->taken = false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_cond_wait(condition, &mutex->mutex);
	pthread_setcancelstate(state, NULL);
	mutex->taken = true;
	mutex->inside = true;
}
