/* The wait that all waiting calls of the library share. */
#ifndef XP_CORE_WAIT_H
#define XP_CORE_WAIT_H

#include "core/queue.h"

/*
 * Fill the array, or with XP_BATCH the queue's batch (array is NULL).  Sleeps until there is a
 * record, until the timeout, or until a wake-up.  Enters the queue, unless `format` has
 * XP_LOCK_HELD, and leaves it.  Returns the number of records, or -1 and errno: EINTR, EBADF, EBUSY
 * ...
 */
int xp_wait_call(struct xpoll *queue, enum xp_format format, void *array, int cap,
                 int64_t timeout_ns, const sigset_t *mask);

/* Returns true if xpoll_revents has returned all records of the batch that xpoll_wait filled. */
static inline bool xp_batch_is_over(const struct xpoll *queue)
{
	return queue->batch.next >= queue->batch.len;
}

/* Returns the next record of the batch. */
static inline const struct xpoll_ready *xp_batch_next(struct xpoll *queue)
{
	XP_ASSERT(!xp_batch_is_over(queue) && queue->batch.len <= XP_FIRED_MOST);
	return &queue->batch.found[queue->batch.next++];
}

/* Discard the records that are left in the batch. */
static inline void xp_batch_end(struct xpoll *queue)
{
	queue->batch.next = queue->batch.len = 0;
}

#endif
