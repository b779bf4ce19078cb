/*
 * The lock of a queue: a mutex that costs a branch while the process has one
 * thread.
 *
 * Taken and released in pairs with no user code in between, so a process
 * cannot start its second thread inside a pair; `taken` remembers whether the
 * mutex was really taken, in case the process becomes single-threaded again
 * within one.
 */
#ifndef XP_BASE_MUTEX_H
#define XP_BASE_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "base/threads.h"

struct xp_mutex {
	bool inside; /* somebody is between lock and unlock */
	bool taken;  /* and has taken the mutex itself */
	pthread_mutex_t mutex;
};

int xp_mutex_init(struct xp_mutex *mutex);

/* Another thread has it: try for some microseconds, then sleep. */
void xp_mutex_lock_busy(struct xp_mutex *mutex);
void xp_mutex_fini(struct xp_mutex *mutex);

/* The branch was taken already: the process has one thread. */
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
 * Release the mutex, sleep until the condition is signalled, take it again.
 * Another thread has to exist to signal it.  No cancellation point.
 */
void xp_mutex_wait(struct xp_mutex *mutex, pthread_cond_t *condition);

#endif
