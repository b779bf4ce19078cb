/* Counters of the drop-in. */
#ifndef DROPIN_STATS_H
#define DROPIN_STATS_H

#include <stdatomic.h>
#include <stdint.h>

struct stats {
	_Atomic uint64_t calls;    /* counted only if XPOLL_POLL_STATS is 1 */
	_Atomic uint64_t passed;   /* calls that the real function made */
	_Atomic uint64_t sets;     /* sets that were made */
	_Atomic uint64_t evicted;  /* sets that were given up */
	_Atomic uint64_t syscalls; /* system calls made by calls with a set */
	_Atomic uint64_t missed;   /* closes that only a real call has revealed */
};

extern struct stats stats;

static inline void stats_add(_Atomic uint64_t *counter, uint64_t amount)
{
	if (amount != 0)
		atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

/* Reset the counters, in a forked child. */
void stats_reset(void);
/* Print one line to stderr. */
void stats_print(void);

#endif
