/*
 * Late changes: changes of a kernel entry that a call makes after it has released the lock.
 *
 * A one-shot entry is silent after its report.  Arming it may wake a thread that needs the lock at
 * once, so the call that enables the filter releases the lock first.  A report with the new arming
 * proves that the kernel has made the change, so no late change overtakes another one.  All other
 * changes of the entry wait, with the lock held, until no late change is under way; a late change
 * completes without the lock.
 */
#ifndef XP_CORE_LATE_H
#define XP_CORE_LATE_H

#include "core/slot.h"

/* A late change to make: the arguments of the back end's change_unlocked. */
struct xp_late {
	struct xp_slot *slot; /* NULL: no change */
	uint64_t token;
	uint32_t watch;
	int fd;
};

/* The slow part of xp_late_await, for a slot that has a late change under way. */
void xp_late_await_busy(struct xp_slot *slot);
/* Wait until no late change of the slot's entry is under way. */
static inline void xp_late_await(struct xp_slot *slot)
{
	if (XP_UNLIKELY(atomic_load_explicit(&slot->late, memory_order_acquire) > 0))
		xp_late_await_busy(slot);
}

/* Wait until no late change of any slot is under way. */
void xp_late_await_all(struct xpoll *queue);
/* In a forked child: forget the late changes that threads of the parent were making. */
void xp_late_forget_all(struct xpoll *queue);

/*
 * Sleep for ns nanoseconds, between two checks of something that another thread does without
 * signalling a condition.
 */
void xp_nap(int64_t ns);

#endif
