/*
 * Changes of a kernel entry that are made without the lock.
 *
 * An entry that reports once is silent after its report.  Arming it may wake a thread, which
 * needs the lock at once, so the call that enables the filter arms the entry after it has
 * released the lock.  A report of an arming shows that the kernel has made it, so no late
 * change overtakes another one.  All other changes of that entry wait for late ones, with the
 * lock held: a late change needs no lock to complete.
 */
#ifndef XP_CORE_LATE_H
#define XP_CORE_LATE_H

#include "core/slot.h"

/* A change that a call makes after it has released the lock. */
struct xp_late {
	struct xp_slot *slot; /* NULL: there is none */
	uint64_t token;
	uint32_t watch;
	int fd;
};

void xp_late_await_busy(struct xp_slot *slot);
/* Wait until no thread is making a late change of the slot's entry. */
static inline void xp_late_await(struct xp_slot *slot)
{
	if (XP_UNLIKELY(atomic_load_explicit(&slot->late, memory_order_acquire) > 0))
		xp_late_await_busy(slot);
}

/* The same for all slots. */
void xp_late_await_all(struct xpoll *queue);
/* In a forked child: the threads that would make late changes are in the parent only. */
void xp_late_forget_all(struct xpoll *queue);

/* Sleep for ns: a pause between checks of what another thread does without a condition. */
void xp_nap(int64_t ns);

#endif
