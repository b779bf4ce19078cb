/*
 * The lock of a queue: a mutex, which is left alone while the process has one thread; locking then
 * costs no more than a branch.
 *
 * Between lock and unlock no code of the program runs that could create a second thread, and a
 * thread that the library starts there (source/aio_work.c) takes no queue's lock.  So no second
 * thread can use the queue while the lock is held without the mutex.  But the other threads may end
 * between lock and unlock: so `taken` records whether unlock has to release the mutex.
 */
#ifndef XP_BASE_MUTEX_H
#define XP_BASE_MUTEX_H

#include "base/assert.h"
#include "base/threads.h"

struct xp_mutex {
	bool inside; /* a thread holds the lock */
	bool taken;  /* xp_mutex_lock took `mutex`, too: the process had several threads */
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
	XP_ASSERT(!mutex->inside && !mutex->taken);
	mutex->inside = true;
}

static inline void xp_mutex_unlock_alone(struct xp_mutex *mutex)
{
	XP_ASSERT(mutex->inside && !mutex->taken);
	mutex->inside = false;
}

static inline void xp_mutex_lock(struct xp_mutex *mutex)
{
	if (xp_single_threaded()) {
		xp_mutex_lock_alone(mutex);
		return;
	}
	if (XP_UNLIKELY(pthread_mutex_trylock(&mutex->mutex) != 0))
		xp_mutex_lock_busy(mutex);
	mutex->taken = true;
	mutex->inside = true;
}

static inline void xp_mutex_unlock(struct xp_mutex *mutex)
{
	XP_ASSERT(mutex->inside);
	mutex->inside = false;
	if (!mutex->taken)
		return;
	mutex->taken = false;
	pthread_mutex_unlock(&mutex->mutex);
}

/*
 * Release the lock, sleep until the condition is signalled, and take the lock again.  Allowed only
 * if the lock was taken with its pthread mutex (`taken`), because another thread has to signal the
 * condition.  Not a cancellation point.
 */
void xp_mutex_wait(struct xp_mutex *mutex, pthread_cond_t *condition);

#endif
