/* Counters of the poll drop-in, all atomic; with XPOLL_POLL_STATS=1 they are printed at exit. */
#ifndef DROPIN_STATS_H
#define DROPIN_STATS_H

#include <stdatomic.h>
#include <stdint.h>

struct stats {
	/* calls of poll, ppoll, select and pselect; counted only with XPOLL_POLL_STATS=1 */
	_Atomic uint64_t calls;
	_Atomic uint64_t passed;      /* calls that were passed to the C library's function */
	_Atomic uint64_t sets;        /* sets (pool.h) that were made */
	_Atomic uint64_t evicted;     /* sets that were given up or made room for others */
	_Atomic uint64_t syscalls;    /* system calls made by calls with a set */
	_Atomic uint64_t late_closes; /* closes found late, by comparison with the C library */
};

extern struct stats stats;

static inline void stats_add(_Atomic uint64_t *counter, uint64_t amount)
{
	if (amount != 0)
		atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

/* Set all counters to 0, in a forked child. */
void stats_reset(void);
/* Print the counters in one line to stderr, unless `calls` is 0. */
void stats_print(void);

#endif
