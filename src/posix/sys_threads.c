/* Threads of the library, which get no signal, and condition variables with a deadline. */
#include "sys/sys_threads.h"

#include <signal.h>
#include <time.h>

#include "base/time.h"
#include "sys/sys.h"

int xp_sys_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
	sigset_t all;
	sigset_t before;
	int rc;

	/* The thread inherits this mask, so no signal is ever delivered to it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

void xp_sys_thread_join(pthread_t thread)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_join(thread, NULL);
	pthread_setcancelstate(state, NULL);
}

int xp_sys_cond_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	int rc = -pthread_condattr_init(&attributes);

	if (rc < 0)
		return rc;
#ifndef __APPLE__
	rc = -pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
	if (rc == 0)
		rc = -pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
	return rc;
}

#ifdef __APPLE__
/* Conditions of macOS cannot use the monotonic clock, but take a duration. */
static int cond_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           int64_t deadline_ns)
{
	struct timespec left;

	return pthread_cond_timedwait_relative_np(condition, mutex,
		xp_sys_time_left(deadline_ns, &left));
}
#else
static int cond_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           int64_t deadline_ns)
{
	struct timespec deadline = {
		.tv_sec = (time_t)(deadline_ns / XP_NS_PER_SEC),
		.tv_nsec = (long)(deadline_ns % XP_NS_PER_SEC),
	};

	return pthread_cond_timedwait(condition, mutex, &deadline);
}
#endif

int xp_sys_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                     int64_t deadline_ns)
{
	int state;
	int rc;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (deadline_ns == XP_NEVER)
		rc = -pthread_cond_wait(condition, mutex);
	else
		rc = -cond_wait_until(condition, mutex, deadline_ns);
	pthread_setcancelstate(state, NULL);
	return rc;
}
