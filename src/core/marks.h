/* Marks that one part of the core leaves for another, which looks at them later. */
#ifndef XP_CORE_MARKS_H
#define XP_CORE_MARKS_H

#include "core/queue.h"

/*
 * The kernel does not report this to a thread that sleeps: one has to come out, unless the
 * calling thread delivers it itself before it leaves.
 */
static inline void xp_sleepers_mark(struct xpoll *queue)
{
	queue->kick.wanted = queue->threads.waiters > 0;
}

/* The calling thread is about to look itself: takes the mark, and returns whether it was there. */
static inline bool xp_sleepers_take_mark(struct xpoll *queue)
{
	bool wanted = queue->kick.wanted;

	queue->kick.wanted = false;
	return wanted;
}

/* A registration ended, or a wait found nothing: xpoll_fd is readable for a reason only. */
static inline void xp_outer_settle(struct xpoll *queue)
{
	queue->outer.patience = 0;
}

/*
 * What a source has found is valid while this number is unchanged: no wait has begun since, and
 * no thread has come back from a sleep.
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
