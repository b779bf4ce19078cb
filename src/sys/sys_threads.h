/* Threads that the library starts: see sys.h for the conventions. */
#ifndef XP_SYS_SYS_THREADS_H
#define XP_SYS_SYS_THREADS_H

#include <pthread.h>
#include <stdint.h>

/*
 * Start a thread in which all signals are blocked; join a thread, which is no cancellation point.
 */
int xp_sys_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);
void xp_sys_thread_join(pthread_t thread);
/* Initialise a condition whose deadlines are times of the monotonic clock. */
int xp_sys_cond_init(pthread_cond_t *condition);
/*
 * Wait until the condition is signalled (returns 0) or the deadline, a time of the monotonic clock,
 * passes (-ETIMEDOUT).  deadline_ns may be XP_NEVER.  No cancellation point.
 */
int xp_sys_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                     int64_t deadline_ns);

#endif
