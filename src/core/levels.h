/*
 * A queue is waited on at one level at a time: which threads are in waits of which level.
 *
 * Only waits among other threads are counted.  All with the queue's lock held.
 */
#ifndef XP_CORE_LEVELS_H
#define XP_CORE_LEVELS_H

#include "base/assert.h"
#include "core/queue.h"

/* Is a thread in a wait of this level, while there are others? */
static inline bool xp_event_level_waits(const struct xpoll *queue)
{
	return XP_UNLIKELY(queue->in_wait.event > 0);
}

static inline bool xp_poll_level_waits(const struct xpoll *queue)
{
	return XP_UNLIKELY(queue->in_wait.poll > 0);
}

/* In a child: the waits are those of the parent's threads. */
static inline void xp_waits_forget(struct xpoll *queue)
{
	queue->in_wait.event = 0;
	queue->in_wait.poll = 0;
	queue->in_wait.batch = false;
}

/* A wait among other threads begins; none of the other level is in progress. */
static inline void xp_wait_admitted(struct xpoll *queue, const struct xp_wait *wait)
{
	if (wait->events) {
		queue->in_wait.event++;
	} else {
		queue->in_wait.poll++;
		queue->in_wait.batch |= !wait->ready;
	}
	XP_ASSERT(queue->in_wait.event == 0 || queue->in_wait.poll == 0);
}

/* The same wait ends.  In a child that a handler has forked no wait is counted. */
static inline void xp_wait_forget(struct xpoll *queue, const struct xp_wait *wait)
{
	int *waits = wait->events ? &queue->in_wait.event : &queue->in_wait.poll;

	if (XP_LIKELY(*waits > 0))
		--*waits;
	if (!wait->events && !wait->ready)
		queue->in_wait.batch = false;
}

#endif
