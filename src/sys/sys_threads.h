/* Threads of the library's own: see sys.h for the conventions. */
#ifndef XP_SYS_SYS_THREADS_H
#define XP_SYS_SYS_THREADS_H

#include <pthread.h>
#include <stdint.h>

/* A thread that gets no signal.  Joining it is no cancellation point. */
int xp_sys_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);
void xp_sys_thread_join(pthread_t thread);
/* For a condition whose moments are of the monotonic clock. */
int xp_sys_cond_init(pthread_cond_t *condition);
/* deadline_ns: XP_NEVER or a moment; 0 or -ETIMEDOUT.  No cancellation point. */
int xp_sys_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                     int64_t deadline_ns);

#endif
