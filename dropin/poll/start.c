/*
 * The beginning and the end of the library in its program.
 */
#include "export.h"
#include "pool.h"
#include "real.h"
#include "settings.h"
#include "stats.h"

__attribute__((constructor)) static void start(void)
{
	settings_read();
	real_init();
	/* Without it every call passes through. */
	if (settings.on)
		(void)pool_init();
}

__attribute__((destructor)) static void end(void)
{
	if (!settings.stats)
		return;
	/* A forked child that has not called has nothing to print of its parent. */
	(void)pool_is_ours();
	stats_print();
}

EXPORT uint64_t xpoll_poll_syscalls(void)
{
	return stats.syscalls;
}
