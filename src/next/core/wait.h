/* The wait. */
#ifndef XP_CORE_WAIT_H
#define XP_CORE_WAIT_H

#include "core/queue.h"

/* The deadline of a wait that begins now. */
int64_t xp_wait_deadline(int64_t timeout_ns);

/*
 * Fill what the wait is for; sleep until there is something, until the deadline, or until
 * woken.  The caller has entered the queue; this call leaves it.  Returns the number of
 * records, or -1 and errno: EINTR, EBADF, EBUSY ...
 */
int xp_wait_call(struct xpoll *queue, struct xp_wait *wait);

#endif
