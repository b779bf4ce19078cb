/* Conversion of timeouts that the program passes as struct timespec. */
#ifndef DROPIN_COMMON_TIME_H
#define DROPIN_COMMON_TIME_H

#include <stdbool.h>
#include <time.h>

#include "base/time.h"

/* Returns false if the kernel would refuse the timeout with EINVAL. */
static inline bool timeout_is_valid(const struct timespec *timeout)
{
	return timeout->tv_sec >= 0 && timeout->tv_nsec >= 0 &&
	       timeout->tv_nsec < XP_NS_PER_SEC;
}

/*
 * Convert `timeout`, for which timeout_is_valid has returned true, to nanoseconds.  Returns
 * XP_NEVER for 292 years and more.
 */
static inline int64_t timeout_ns(const struct timespec *timeout)
{
	if (timeout->tv_sec >= XP_NEVER / XP_NS_PER_SEC)
		return XP_NEVER;
	return timeout->tv_sec * XP_NS_PER_SEC + timeout->tv_nsec;
}

#endif
