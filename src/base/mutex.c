/* The queue's lock, except its fast path: see mutex.h. */
#include "base/mutex.h"

/*
 * Number of attempts to take the mutex before a thread sleeps until it is free, chosen by `xpoll
 * bench threads`.  A thread holds the lock for about 1 microsecond, while a sleep and its wake-up
 * take about 10.
 */
enum { TRIES_MOST = 400 };

int xp_mutex_init(struct xp_mutex *mutex)
{
	mutex->is_pthread_locked = false;
	mutex->is_held = false;
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

	XP_ASSERT(mutex->is_pthread_locked);
	mutex->is_held = false;
	mutex->is_pthread_locked = false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_cond_wait(condition, &mutex->mutex);
	pthread_setcancelstate(state, NULL);
	mutex->is_pthread_locked = true;
	mutex->is_held = true;
}
