/*
 * The counters of a queue, which xpoll_stats returns: struct xpoll_stats in xpoll.h explains them.
 * Threads hold the queue's lock to read and write them, so a plain addition suffices; only counters
 * that a thread may also increment without the lock are atomic.
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
	uint64_t changes; /* changes not counted in changes_free; xpoll_stats returns the sum */
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

/*
 * Add while holding the queue's lock, by a load and a store, which are cheaper than an atomic
 * addition.  An increment by xp_count_shared between the two is lost.
 */
static inline void xp_count_locked(xp_shared_counter *counter, uint64_t amount)
{
	atomic_store_explicit(counter, xp_counter_read(counter) + amount, memory_order_relaxed);
}

#define xp_count_by(counter, amount) \
	_Generic((counter), \
		uint64_t *: xp_count_plain, \
		xp_shared_counter *: xp_count_locked)(counter, amount)
#define xp_count(counter) xp_count_by(counter, 1)

/* Increment a counter without holding the queue's lock. */
static inline void xp_count_shared(xp_shared_counter *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

#endif
