/*
 * Counters that are always on.  They are written under the queue's lock, so a
 * plain add suffices; the accesses are relaxed atomics because xpoll_stats
 * reads without it.
 */
#ifndef XP_BASE_COUNTERS_H
#define XP_BASE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint64_t xp_counter;

struct xp_counters {
	xp_counter waits;
	xp_counter events;
	xp_counter wakes;
	xp_counter empty_returns;
	xp_counter changes; /* those that are not free; xpoll_stats adds the others */
	xp_counter changes_free;
	xp_counter change_errors;
	xp_counter syscalls_wait;
	xp_counter syscalls_change;
	xp_counter syscalls_check;
	xp_counter syscalls_wake; /* also without the lock: xp_count_shared */
	xp_counter stale_dropped;
	xp_counter fruitless;
	xp_counter rebuilds;
	xp_counter registered;
	xp_counter signals_unobserved;
};

static inline uint64_t xp_counter_read(const xp_counter *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* The new value. */
static inline uint64_t xp_count_by(xp_counter *counter, uint64_t amount)
{
	uint64_t value = xp_counter_read(counter) + amount;

	atomic_store_explicit(counter, value, memory_order_relaxed);
	return value;
}

static inline uint64_t xp_count(xp_counter *counter)
{
	return xp_count_by(counter, 1);
}

/* For the counters that are also written without the lock. */
static inline void xp_count_shared(xp_counter *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

#endif
