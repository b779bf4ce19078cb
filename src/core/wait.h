/* The wait. */
#ifndef XP_CORE_WAIT_H
#define XP_CORE_WAIT_H

#include "core/queue.h"

/*
 * Fill an array, or the batch; sleep until there is something, until the deadline, or until
 * woken.  It enters the queue, unless the caller has, and leaves it.  Returns the number of
 * records, or -1 and errno: EINTR, EBADF, EBUSY ...
 */
int xp_wait_call(struct xpoll *queue, enum xp_format format, void *array, int cap,
                 int64_t timeout_ns, const sigset_t *mask);

#endif
