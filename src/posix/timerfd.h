/* Converts deadlines to the times of timerfd_settime(2), on Linux and illumos. */
#ifndef XP_POSIX_TIMERFD_H
#define XP_POSIX_TIMERFD_H

#include <stdint.h>
#include <time.h>

#include "base/time.h"

/*
 * Returns the time to pass to timerfd_settime(2).  0 would disarm the timerfd: it is returned for
 * XP_NEVER only, and 1 for a deadline at or before 0, which has passed.
 */
static inline int64_t xp_timer_moment(int64_t deadline_ns)
{
	if (deadline_ns == XP_NEVER)
		return 0;
	return deadline_ns <= 0 ? 1 : deadline_ns;
}

/* Returns the argument of timerfd_settime(2) for this time, in nanoseconds, without an interval. */
static inline struct itimerspec xp_timer_spec(int64_t at_ns)
{
	return (struct itimerspec){
		.it_value = {
			.tv_sec = (time_t)(at_ns / XP_NS_PER_SEC),
			.tv_nsec = (long)(at_ns % XP_NS_PER_SEC),
		},
	};
}

#endif
