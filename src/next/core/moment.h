/* What a source may learn of the wait that calls it. */
#ifndef XP_CORE_MOMENT_H
#define XP_CORE_MOMENT_H

#include "core/queue.h"

/*
 * What was so at a moment is so as long as this number stays: no wait has begun, and no
 * thread has come back from a sleep.
 */
static inline uint64_t xp_moment(const struct xpoll *queue)
{
	return queue->counters.waits + queue->threads.sleeps;
}

/* This wait calls a source; NULL: none does. */
static inline void xp_source_wait(struct xpoll *queue, struct xp_wait *wait)
{
	queue->source_wait = wait;
}

#endif
