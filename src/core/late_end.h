/* The end of a call that may have left a change to be made without the lock. */
#ifndef XP_CORE_LATE_END_H
#define XP_CORE_LATE_END_H

#include "core/late.h"
#include "core/sleep.h"

/*
 * Release the lock with the result of the call, and make the late change, if there is one.
 * Returns that result, or -1 and errno.
 */
int xp_leave_and_make(struct xpoll *queue, int rc, const struct xp_late *late);
static inline int xp_leave_late(struct xpoll *queue, int rc, const struct xp_late *late)
{
	return XP_UNLIKELY(late->slot != NULL) ? xp_leave_and_make(queue, rc, late)
		: xp_leave_with(queue, rc);
}

#endif
