/*
 * The time that threads sleep in a queue, for xpoll_stats: counted only with
 * XPOLL_COUNT_IDLE, as it takes two readings of the clock for each sleep.
 */
#ifndef XP_CORE_IDLE_H
#define XP_CORE_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/sys.h"

/* Guarded by the queue's lock. */
struct xp_idle {
	bool counted; /* [I] XPOLL_COUNT_IDLE */
	int sleepers; /* threads that sleep now */
	uint64_t ns;  /* the time of ended sleeps, minus the start of each that lasts; wraps */
};

/* A thread is about to sleep in the kernel. */
static inline void xp_idle_begin(struct xp_idle *idle)
{
	if (XP_UNLIKELY(idle->counted)) {
		idle->sleepers++;
		idle->ns -= (uint64_t)xp_sys_now();
	}
}

/* The thread is back.  In a child that a signal handler has forked no sleep is counted. */
static inline void xp_idle_end(struct xp_idle *idle)
{
	if (XP_UNLIKELY(idle->sleepers > 0)) {
		idle->sleepers--;
		idle->ns += (uint64_t)xp_sys_now();
	}
}

/* Returns the time that all threads have slept, with the sleeps that last. */
static inline uint64_t xp_idle_total(const struct xp_idle *idle)
{
	return idle->sleepers == 0 ? idle->ns
		: idle->ns + (uint64_t)idle->sleepers * (uint64_t)xp_sys_now();
}

/* In a forked child: the threads of the parent do not sleep here. */
static inline void xp_idle_forget(struct xp_idle *idle)
{
	idle->ns = xp_idle_total(idle);
	idle->sleepers = 0;
}

#endif
