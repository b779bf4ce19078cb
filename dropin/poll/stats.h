/* Counters of what the drop-in did. */
#ifndef DROPIN_STATS_H
#define DROPIN_STATS_H

#include <stdatomic.h>
#include <stdint.h>

struct stats {
	_Atomic uint64_t calls;    /* counted only if XPOLL_POLL_STATS is 1 */
	_Atomic uint64_t passed;   /* to the real call, as a whole */
	_Atomic uint64_t sets;     /* that were made */
	_Atomic uint64_t evicted;  /* sets that were given up */
	_Atomic uint64_t syscalls; /* of the calls that were not passed through */
	_Atomic uint64_t missed;   /* closes that nobody noticed */
};

extern struct stats stats;

static inline void stats_add(_Atomic uint64_t *counter, uint64_t amount)
{
	if (amount != 0)
		atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

/* Start again, in a forked child. */
void stats_reset(void);
/* One line to stderr. */
void stats_print(void);

#endif
