/* A queue that a forked child finds: its parent's threads are not there. */
#ifndef XP_CORE_CHILD_H
#define XP_CORE_CHILD_H

#include "core/queue.h"

/* Was a thread of the parent's inside, so that the tables may be half changed? */
static inline bool xp_child_finds_torn(const struct xpoll *queue)
{
	return queue->threads.torn || queue->lock.inside;
}

/* No thread waits, and the lock is new; 0, -ENOMEM. */
int xp_child_forget_threads(struct xpoll *queue);

/* For xp_lock_again. */
int xp_child_awakes(struct xpoll *queue);

/*
 * The end of a sleep: take the lock again.  -EINTR: a handler forked meanwhile, and this
 * is the child; it has the lock, and its parent's threads are forgotten.
 */
static inline int xp_lock_again(struct xpoll *queue)
{
	if (XP_UNLIKELY(queue->process != xp_process_current()))
		return xp_child_awakes(queue);
	xp_mutex_lock(&queue->lock);
	return 0;
}

#endif
