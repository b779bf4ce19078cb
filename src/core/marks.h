/* Marks that one part of the core leaves for another, which looks at them later. */
#ifndef XP_CORE_MARKS_H
#define XP_CORE_MARKS_H

#include "core/queue.h"

/* Returns true if a thread is in the back end's wait. */
static inline bool xp_has_sleepers(const struct xpoll *queue)
{
	return queue->threads.sleepers > 0;
}

/*
 * The kernel does not report this to a thread that sleeps: one has to come out, unless the
 * calling thread delivers it itself before it leaves.
 */
static inline void xp_sleepers_mark(struct xpoll *queue)
{
	queue->kick.wanted = xp_has_sleepers(queue);
}

/* The calling thread is about to look itself: takes the mark, and returns whether it was there. */
static inline bool xp_sleepers_take_mark(struct xpoll *queue)
{
	bool wanted = queue->kick.wanted;

	queue->kick.wanted = false;
	return wanted;
}

/* xpoll_fd stays readable without a reason for one update less than this. */
static inline void xp_outer_keep(struct xpoll *queue, uint8_t updates)
{
	queue->outer.patience = updates;
}

/* A registration ended, or a wait found nothing: xpoll_fd is readable for a reason only. */
static inline void xp_outer_settle(struct xpoll *queue)
{
	xp_outer_keep(queue, 0);
}

/*
 * The result of a source's look is valid while this number is unchanged: no wait has begun
 * since, and no thread has come back from a sleep.
 */
static inline uint64_t xp_moment(const struct xpoll *queue)
{
	return queue->counters.waits + queue->threads.sleeps;
}

/* A thread is back from a sleep: results from before are not valid any more (xp_moment). */
static inline void xp_moment_end(struct xpoll *queue)
{
	queue->threads.sleeps++;
}

/* xpoll_wake was called, and no wait has returned for it. */
static inline bool xp_wake_is_pending(const struct xpoll *queue)
{
	return atomic_load(&queue->wake.state) & XP_WAKE_PENDING;
}

/* Take the pending xpoll_wake, for which the wait returns.  False: there is none to take. */
static inline bool xp_wake_take(struct xpoll *queue)
{
	return xp_wake_is_pending(queue) &&
		atomic_fetch_and(&queue->wake.state, ~(unsigned)XP_WAKE_PENDING) & XP_WAKE_PENDING;
}

/* Begin xpoll_wake.  True: it has to wake a thread, and is a writer until xp_writer_end. */
static inline bool xp_wake_begin(struct xpoll *queue)
{
	unsigned state = atomic_load(&queue->wake.state);

	while (!(state & XP_WAKE_PENDING))
		if (atomic_compare_exchange_weak(&queue->wake.state, &state,
		                                 (state | XP_WAKE_PENDING) + XP_WAKE_WRITER))
			return true;
	return false;
}

/* This thread uses the queue without its lock: xpoll_destroy waits until it does no longer. */
static inline void xp_writer_begin(struct xpoll *queue)
{
	atomic_fetch_add(&queue->wake.state, XP_WAKE_WRITER);
}

static inline void xp_writer_end(struct xpoll *queue)
{
	atomic_fetch_sub(&queue->wake.state, XP_WAKE_WRITER);
}

static inline bool xp_has_writers(const struct xpoll *queue)
{
	return atomic_load(&queue->wake.state) >= XP_WAKE_WRITER;
}

/* later: some slots could not be attached, and the next wait tries again. */
static inline void xp_attach_later(struct xpoll *queue, bool later)
{
	queue->unattached = later;
}

/* This wait calls a source; NULL: none does. */
static inline void xp_source_wait(struct xpoll *queue, struct xp_wait *wait)
{
	queue->source_wait = wait;
}

#endif
