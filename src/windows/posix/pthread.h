/*
 * The POSIX threads that the library uses, on the primitives of Windows: no call fails, except a
 * trylock of a locked mutex, and nothing has to be destroyed.  Threads cannot be cancelled.
 */
#ifndef XP_WINDOWS_POSIX_PTHREAD_H
#define XP_WINDOWS_POSIX_PTHREAD_H

#include <errno.h>
#include <winsock2.h>

#include <windows.h>

typedef SRWLOCK pthread_mutex_t;
typedef CONDITION_VARIABLE pthread_cond_t;
typedef INIT_ONCE pthread_once_t;
typedef HANDLE pthread_t;

#define PTHREAD_MUTEX_INITIALIZER SRWLOCK_INIT
#define PTHREAD_ONCE_INIT         INIT_ONCE_STATIC_INIT
#define PTHREAD_CANCEL_DISABLE    1

static inline int pthread_mutex_init(pthread_mutex_t *mutex, const void *none)
{
	(void)none;
	InitializeSRWLock(mutex);
	return 0;
}

static inline int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	(void)mutex;
	return 0;
}

static inline int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	AcquireSRWLockExclusive(mutex);
	return 0;
}

static inline int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	return TryAcquireSRWLockExclusive(mutex) ? 0 : EBUSY;
}

static inline int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	ReleaseSRWLockExclusive(mutex);
	return 0;
}

static inline int pthread_cond_init(pthread_cond_t *condition,
                                    const void *none)
{
	(void)none;
	InitializeConditionVariable(condition);
	return 0;
}

static inline int pthread_cond_destroy(pthread_cond_t *condition)
{
	(void)condition;
	return 0;
}

static inline int pthread_cond_wait(pthread_cond_t *condition,
                                    pthread_mutex_t *mutex)
{
	(void)SleepConditionVariableSRW(condition, mutex, INFINITE, 0);
	return 0;
}

static inline int pthread_cond_signal(pthread_cond_t *condition)
{
	WakeConditionVariable(condition);
	return 0;
}

static inline int pthread_cond_broadcast(pthread_cond_t *condition)
{
	WakeAllConditionVariable(condition);
	return 0;
}

/* Returns a pseudo-handle of the calling thread, for pthread_equal only. */
static inline pthread_t pthread_self(void)
{
	return GetCurrentThread();
}

static inline int pthread_equal(pthread_t a, pthread_t b)
{
	return GetThreadId(a) == GetThreadId(b);
}

static inline int pthread_setcancelstate(int state, int *before)
{
	if (before)
		*before = state;
	return 0;
}

/* No thread is cancelled, so a handler that was pushed runs only if the pop executes it. */
#define pthread_cleanup_push(function, argument)            \
	do {                                                \
		void (*xp_cleanup)(void *) = (function);    \
		void *xp_cleanup_argument = (argument)
#define pthread_cleanup_pop(execute)                        \
		if (execute)                                \
			xp_cleanup(xp_cleanup_argument);    \
	} while (0)

#endif
