/* The clocks; a file of their own, so that a test can link its own clocks instead. */
#include <time.h>

#include "base/compiler.h"
#include "base/time.h"
#include "sys/sys.h"

/* Not inlined: `now`, whose address is passed, would give each caller a stack protector. */
static XP_NOINLINE int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * XP_NS_PER_SEC + now.tv_nsec;
}

int64_t xp_sys_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int64_t xp_sys_now_coarse(void)
{
#ifdef CLOCK_MONOTONIC_COARSE
	return clock_ns(CLOCK_MONOTONIC_COARSE);
#else
	return clock_ns(CLOCK_MONOTONIC);
#endif
}

int64_t xp_sys_realtime(void)
{
	return clock_ns(CLOCK_REALTIME);
}
