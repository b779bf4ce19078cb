/* The clocks of sys/sys.h, in nanoseconds. */
#include "base/time.h"
#include "sys/sys.h"
#include "windows/nt.h"

/* Convert ticks, per_second of which are a second, to nanoseconds without overflow. */
static int64_t to_ns(int64_t ticks, int64_t per_second)
{
	return ticks / per_second * XP_NS_PER_SEC +
		ticks % per_second * XP_NS_PER_SEC / per_second;
}

int64_t xp_sys_now(void)
{
	LARGE_INTEGER ticks;
	LARGE_INTEGER per_second;

	/* Both calls mostly read memory that the kernel shares, so they need no system call. */
	QueryPerformanceCounter(&ticks);
	QueryPerformanceFrequency(&per_second);
	return to_ns(ticks.QuadPart, per_second.QuadPart);
}

int64_t xp_sys_now_coarse(void)
{
	return (int64_t)GetTickCount64() * XP_NS_PER_MS;
}

int64_t xp_sys_realtime(void)
{
	/* The Unix epoch, in units of 100 ns since 1601. */
	static const int64_t epoch = INT64_C(116444736000000000);
	ULARGE_INTEGER value;
	FILETIME now;

	GetSystemTimePreciseAsFileTime(&now);
	value.LowPart = now.dwLowDateTime;
	value.HighPart = now.dwHighDateTime;
	return ((int64_t)value.QuadPart - epoch) * 100;
}
