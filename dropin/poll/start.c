/* The constructor and the destructor of the library: settings, pool, counters. */
#include "export.h"
#include "pool.h"
#include "real.h"
#include "settings.h"
#include "stats.h"

__attribute__((constructor)) static void start(void)
{
	settings_read();
	real_init();
	/* If pool_init fails, every call passes through to the C library. */
	if (settings.on)
		(void)pool_init();
}

__attribute__((destructor)) static void end(void)
{
	if (!settings.stats)
		return;
	/* In a forked child that has made no call, reset the counters, copies of the parent's. */
	(void)pool_is_ours();
	stats_print();
}

EXPORT uint64_t xpoll_poll_syscalls(void)
{
	return stats.syscalls;
}
