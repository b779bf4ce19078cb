/*
 * Counters that are always on.  They are written and read under the queue's lock, so a plain
 * addition suffices; those that waits without the lock also write are atomic.
 */
#ifndef XP_BASE_COUNTERS_H
#define XP_BASE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint64_t xp_shared_counter;

struct xp_counters {
	uint64_t waits;
	uint64_t events;
	uint64_t wakes;
	uint64_t empty_returns;
	uint64_t changes; /* changes that are not free; xpoll_stats adds the others */
	uint64_t changes_free;
	uint64_t change_errors;
	uint64_t syscalls_wait;
	xp_shared_counter syscalls_change;
	xp_shared_counter syscalls_check;
	xp_shared_counter syscalls_wake;
	uint64_t stale_dropped;
	uint64_t fruitless;
	uint64_t rebuilds;
	uint64_t registered;
	uint64_t signals_unobserved;
};

static inline uint64_t xp_counter_read(const xp_shared_counter *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static inline void xp_count_plain(uint64_t *counter, uint64_t amount)
{
	*counter += amount;
}

/* Add with the lock held; a count made without it at the same time may be lost. */
static inline void xp_count_locked(xp_shared_counter *counter, uint64_t amount)
{
	atomic_store_explicit(counter, xp_counter_read(counter) + amount, memory_order_relaxed);
}

#define xp_count_by(counter, amount) \
	_Generic((counter), \
		uint64_t *: xp_count_plain, \
		xp_shared_counter *: xp_count_locked)(counter, amount)
#define xp_count(counter) xp_count_by(counter, 1)

/* Increment a counter that is also written without the lock. */
static inline void xp_count_shared(xp_shared_counter *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

#endif
