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

/*
 * A handler forked while this thread slept, and it is the child's: it takes the lock, as
 * after every sleep, and the result is -EINTR.
 */
int xp_child_awakes(struct xpoll *queue);

#endif
