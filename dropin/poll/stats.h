/*
 * What the drop-in did, in numbers.  Calls that pass through at once are only
 * counted if somebody wants to see it.
 */
#ifndef DROPIN_STATS_H
#define DROPIN_STATS_H

#include <stdatomic.h>
#include <stdint.h>

struct stats {
	_Atomic uint64_t calls;
	_Atomic uint64_t passed;   /* to the real call, as a whole */
	_Atomic uint64_t sets;     /* arrays taken up */
	_Atomic uint64_t evicted;
	_Atomic uint64_t changed;  /* entries that differed from the last call */
	_Atomic uint64_t changes;  /* epoll_ctl and what goes with it */
	_Atomic uint64_t syscalls; /* all, of calls that were not passed through */
	_Atomic uint64_t rechecks; /* full looks by a real poll(2) */
	_Atomic uint64_t missed;   /* what those found that was missed */
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
