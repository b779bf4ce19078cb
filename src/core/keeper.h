/*
 * The keeper: of the threads that sleep, the one that comes out when a
 * source's moment (due_ns) has come.
 *
 * kept_ns tells which moment somebody minds: XP_NEVER, nobody minds any;
 * XP_NOW, a sleeper was called and will look at all of them.  A moment that
 * was put off leaves its keeper alone, who comes out once in vain: timeouts
 * that are put off all the time must not wake anybody.
 *
 * All with the queue's lock held.
 */
#ifndef XP_CORE_KEEPER_H
#define XP_CORE_KEEPER_H

#include "base/assert.h"
#include "base/time.h"
#include "core/queue.h"

/* Is there a moment that no sleeper comes out for? */
static inline bool xp_keeper_missing(const struct xpoll *queue)
{
	return queue->due_ns < queue->kept_ns;
}

/*
 * A thread is about to sleep until *deadline_ns: it becomes the keeper if
 * there is none.  The result is for xp_keeper_end.
 */
static inline uint32_t xp_keeper_begin(struct xpoll *queue,
                                       int64_t *deadline_ns)
{
	if (XP_LIKELY(!xp_keeper_missing(queue)))
		return 0;
	if (queue->due_ns < *deadline_ns)
		*deadline_ns = queue->due_ns;
	if (++queue->keepers == 0)
		queue->keepers = 1;
	queue->keeper = queue->keepers;
	queue->kept_ns = queue->due_ns;
	return queue->keeper;
}

static inline void xp_keeper_end(struct xpoll *queue, uint32_t keeper)
{
	if (keeper && queue->keeper == keeper) {
		queue->keeper = 0;
		queue->kept_ns = XP_NEVER;
	}
}

/* A sleeper was called; until one has come out nobody else need be. */
static inline void xp_keeper_called(struct xpoll *queue)
{
	XP_ASSERT(queue->waiters > 0);
	queue->keeper = 0;
	queue->kept_ns = XP_NOW;
}

/* This thread has come out of the kernel, or may have taken the call. */
static inline void xp_keeper_answered(struct xpoll *queue)
{
	if (XP_UNLIKELY(queue->kept_ns == XP_NOW))
		queue->kept_ns = XP_NEVER;
}

#endif
