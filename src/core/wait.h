/* The wait. */
#ifndef XP_CORE_WAIT_H
#define XP_CORE_WAIT_H

#include "base/assert.h"
#include "core/queue.h"

/*
 * Fill an array, or the batch; sleep until there is something, until the deadline, or until
 * woken.  It enters the queue, unless the caller has, and leaves it.  Returns the number of
 * records, or -1 and errno: EINTR, EBADF, EBUSY ...
 */
int xp_wait_call(struct xpoll *queue, enum xp_format format, void *array, int cap,
                 int64_t timeout_ns, const sigset_t *mask);

/* The batch of xpoll_wait.  Returns true if xpoll_revents has handed out all records. */
static inline bool xp_batch_is_over(const struct xpoll *queue)
{
	return queue->batch.next >= queue->batch.len;
}

/* Hand out the next record of the batch. */
static inline const struct xp_found *xp_batch_next(struct xpoll *queue)
{
	XP_ASSERT(!xp_batch_is_over(queue) && queue->batch.len <= XP_FIRED_MOST);
	return &queue->batch.found[queue->batch.next++];
}

/* Empty the batch. */
static inline void xp_batch_end(struct xpoll *queue)
{
	queue->batch.next = queue->batch.len = 0;
}

#endif
