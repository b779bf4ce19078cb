/*
 * Deadlines in the library are absolute, in nanoseconds of the monotonic clock (TIMER also has some
 * of the real-time clock).  Durations (timeouts) occur only where the program calls the library and
 * where the library calls the kernel.
 */
#ifndef XP_BASE_TIME_H
#define XP_BASE_TIME_H

#include <limits.h>
#include <stdint.h>

#define XP_NOW   ((int64_t)0)  /* poll without sleeping */
/*
 * passed to a back end's wait: poll without sleeping, but, like for a sleep, without the queue's
 * lock and with the signal mask
 */
#define XP_NOW_UNLOCKED  ((int64_t)1)
/*
 * passed to a back end's wait: like XP_NOW, but only for reports for which the last call had no
 * room
 */
#define XP_NOW_CONTINUED  ((int64_t)-1)
#define XP_NEVER INT64_MAX /* no deadline: sleep until there is an event */

#define XP_NS_PER_SEC 1000000000LL
#define XP_NS_PER_MS  1000000LL

/* Returns now_ns + timeout_ns; XP_NEVER if the sum is too large. */
static inline int64_t xp_deadline(int64_t now_ns, int64_t timeout_ns)
{
	return timeout_ns >= XP_NEVER - now_ns ? XP_NEVER : now_ns + timeout_ns;
}

/*
 * Returns a duration in milliseconds, at most INT_MAX.  Rounds up: a wait that returned early would
 * be called again at once, and keep the processor busy.
 */
static inline int xp_ms_ceil(int64_t left_ns)
{
	int64_t left_ms = left_ns / XP_NS_PER_MS + (left_ns % XP_NS_PER_MS != 0);

	return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

#endif
