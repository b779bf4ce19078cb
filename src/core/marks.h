/* Flags and counters by which one part of the core informs another. */
#ifndef XP_CORE_MARKS_H
#define XP_CORE_MARKS_H

#include "core/queue.h"

/* Returns true if a thread is in the back end's wait, in which it may sleep. */
static inline bool xp_has_sleepers(const struct xpoll *queue)
{
	return queue->threads.sleepers > 0;
}

/*
 * Called for an event that the kernel does not report to sleeping threads, such as one of a source.
 * If a thread sleeps in the kernel, record that a sleeping thread has to return and poll again.
 * The calling thread wakes such a thread when it leaves the queue, unless it delivers the event
 * itself.
 */
static inline void xp_kick_request(struct xpoll *queue)
{
	queue->kick.is_requested = xp_has_sleepers(queue);
}

/*
 * Forget that a sleeping thread has to be woken (xp_kick_request), because the calling thread
 * polls itself, or wakes a sleeping thread.  Returns whether that was recorded.
 */
static inline bool xp_kick_take_request(struct xpoll *queue)
{
	bool wanted = queue->kick.is_requested;

	queue->kick.is_requested = false;
	return wanted;
}

/*
 * Set queue->outer.grace.  The descriptor of xpoll_fd is readable while there is a candidate (slot
 * to check by poll(2)), and stays readable in the next (updates - 1) calls of xp_outer_update that
 * find no candidate.  Called with 0 if a registration has ended or a wait has found nothing: then
 * the next such call makes the descriptor unreadable, unless the queue has something to report.
 */
static inline void xp_outer_set_grace(struct xpoll *queue, uint8_t updates)
{
	queue->outer.grace = updates;
}

/*
 * Returns a number that grows when a wait begins and when a thread takes the lock again after a
 * sleep.  While the number is unchanged, a source need not verify a registration again.
 */
static inline uint64_t xp_wait_generation(const struct xpoll *queue)
{
	return queue->stats.waits + queue->threads.relocks;
}

/*
 * Call when a thread has returned from a sleep: objects that sources have verified before must be
 * verified again.
 */
static inline void xp_wait_generation_end(struct xpoll *queue)
{
	queue->threads.relocks++;
}

/* Returns true if xpoll_wake was called and no wait has returned for it yet. */
static inline bool xp_wake_is_pending(const struct xpoll *queue)
{
	return atomic_load(&queue->wake.state) & XP_WAKE_PENDING;
}

/*
 * Consume the pending xpoll_wake: the calling wait has to return for it.  Returns false if none is
 * pending.
 */
static inline bool xp_wake_take(struct xpoll *queue)
{
	return xp_wake_is_pending(queue) &&
		atomic_fetch_and(&queue->wake.state, ~(unsigned)XP_WAKE_PENDING) & XP_WAKE_PENDING;
}

/*
 * Begin xpoll_wake.  Returns true if this call has to wake a thread; then the calling thread counts
 * as a pin, for which xpoll_destroy waits, until xp_queue_unpin.  Returns false if a wake-up is
 * pending already.
 */
static inline bool xp_wake_begin(struct xpoll *queue)
{
	unsigned state = atomic_load(&queue->wake.state);

	while (!(state & XP_WAKE_PENDING))
		if (atomic_compare_exchange_weak(&queue->wake.state, &state,
		                                 (state | XP_WAKE_PENDING) + XP_WAKE_PIN))
			return true;
	return false;
}

/*
 * Pin the queue for this thread, which uses the queue without its lock; xpoll_destroy waits for
 * xp_queue_unpin.
 */
static inline void xp_queue_pin(struct xpoll *queue)
{
	atomic_fetch_add(&queue->wake.state, XP_WAKE_PIN);
}

/*
 * End xp_queue_pin.  This must be the thread's last access to the queue, which xpoll_destroy may
 * free from now on.
 */
static inline void xp_queue_unpin(struct xpoll *queue)
{
	atomic_fetch_sub(&queue->wake.state, XP_WAKE_PIN);
}

/* Returns true if some thread uses the queue without its lock. */
static inline bool xp_queue_is_pinned(const struct xpoll *queue)
{
	return atomic_load(&queue->wake.state) >= XP_WAKE_PIN;
}

/* Record whether slots are missing from the kernel's set, so that the next wait has to add them. */
static inline void xp_set_unattached(struct xpoll *queue, bool later)
{
	queue->unattached = later;
}

/* Record the wait that is about to call functions of a source; NULL: the wait has called them. */
static inline void xp_source_wait(struct xpoll *queue, struct xp_wait *wait)
{
	queue->source_wait = wait;
}

#endif
