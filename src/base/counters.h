/*
 * The counters of a queue that back ends increment, some of them without the queue's lock: struct
 * xpoll_stats in xpoll.h explains them.
 */
#ifndef XP_BASE_COUNTERS_H
#define XP_BASE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint64_t xp_shared_counter;

struct xp_counters {
	xp_shared_counter syscalls_wait;
	xp_shared_counter syscalls_change;
	xp_shared_counter syscalls_check;
	xp_shared_counter syscalls_wake;
};

static inline uint64_t xp_counter_read(const xp_shared_counter *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/*
 * Add to a counter while holding the queue's lock, by a load and a store, which are cheaper than an
 * atomic addition.  An increment by xp_count_shared between the load and the store is lost, which
 * matters little for statistics.
 */
static inline void xp_count_by(xp_shared_counter *counter, uint64_t amount)
{
	atomic_store_explicit(counter, xp_counter_read(counter) + amount, memory_order_relaxed);
}

static inline void xp_count(xp_shared_counter *counter)
{
	xp_count_by(counter, 1);
}

/* Increment a counter without holding the queue's lock. */
static inline void xp_count_shared(xp_shared_counter *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

#endif
