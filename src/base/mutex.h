/*
 * The lock of a queue: a mutex, which is left alone while the process has one thread; locking then
 * costs no more than a branch.
 *
 * Between lock and unlock no code of the program runs that could create a second thread, and a
 * thread that the library starts there (source/aio_work.c) takes no queue's lock.  So no second
 * thread can use the queue while the lock is held without the mutex.  But the other threads may end
 * between lock and unlock: so `is_pthread_locked` records whether unlock has to release the mutex.
 */
#ifndef XP_BASE_MUTEX_H
#define XP_BASE_MUTEX_H

#include "base/assert.h"
#include "base/threads.h"

struct xp_mutex {
	bool is_held;           /* a thread holds the lock */
	/* xp_mutex_lock took `mutex`, too: the process had several threads */
	bool is_pthread_locked;
	pthread_mutex_t mutex;
};

/* Returns 0 or a negative errno value. */
int xp_mutex_init(struct xp_mutex *mutex);

/*
 * The slow path of xp_mutex_lock: another thread holds the mutex.  Try for some microseconds, then
 * sleep.
 */
void xp_mutex_lock_busy(struct xp_mutex *mutex);
/* Destroy the lock, which no thread may hold. */
void xp_mutex_fini(struct xp_mutex *mutex);

/* Lock in a process that is known to have one thread. */
static inline void xp_mutex_lock_alone(struct xp_mutex *mutex)
{
	XP_ASSERT(!mutex->is_held && !mutex->is_pthread_locked);
	mutex->is_held = true;
}

static inline void xp_mutex_unlock_alone(struct xp_mutex *mutex)
{
	XP_ASSERT(mutex->is_held && !mutex->is_pthread_locked);
	mutex->is_held = false;
}

static inline void xp_mutex_lock(struct xp_mutex *mutex)
{
	if (xp_single_threaded()) {
		xp_mutex_lock_alone(mutex);
		return;
	}
	if (XP_UNLIKELY(pthread_mutex_trylock(&mutex->mutex) != 0))
		xp_mutex_lock_busy(mutex);
	mutex->is_pthread_locked = true;
	mutex->is_held = true;
}

static inline void xp_mutex_unlock(struct xp_mutex *mutex)
{
	XP_ASSERT(mutex->is_held);
	mutex->is_held = false;
	if (!mutex->is_pthread_locked)
		return;
	mutex->is_pthread_locked = false;
	pthread_mutex_unlock(&mutex->mutex);
}

/*
 * Release the lock, sleep until the condition is signalled, and take the lock again.  Allowed only
 * if the lock was taken with its pthread mutex (`taken`), because another thread has to signal the
 * condition.  Not a cancellation point.
 */
void xp_mutex_wait(struct xp_mutex *mutex, pthread_cond_t *condition);

#endif
