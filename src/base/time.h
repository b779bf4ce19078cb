/*
 * Deadlines are absolute nanoseconds of the monotonic clock everywhere in the library.  Durations
 * exist only in the interfaces of the caller and of the kernel.
 */
#ifndef XP_BASE_TIME_H
#define XP_BASE_TIME_H

#include <limits.h>
#include <stdint.h>

#define XP_NOW   ((int64_t)0)  /* a deadline in the past: poll without sleeping */
#define XP_PAST  ((int64_t)1)  /* the same, but handled like a wait that may sleep */
#define XP_REST  ((int64_t)-1) /* like XP_NOW, for the rest of the last poll's results */
#define XP_NEVER INT64_MAX

#define XP_NS_PER_SEC 1000000000LL
#define XP_NS_PER_MS  1000000LL

/* Returns now_ns + timeout_ns; saturates at XP_NEVER. */
static inline int64_t xp_deadline(int64_t now_ns, int64_t timeout_ns)
{
	return timeout_ns >= XP_NEVER - now_ns ? XP_NEVER : now_ns + timeout_ns;
}

/* Returns a duration in milliseconds, rounded up: an early return would make the caller spin. */
static inline int xp_ms_ceil(int64_t left_ns)
{
	int64_t left_ms = left_ns / XP_NS_PER_MS + (left_ns % XP_NS_PER_MS != 0);

	return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

#endif
