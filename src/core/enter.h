/* Entering a queue, and leaving it: the first and the last step of each call. */
#ifndef XP_CORE_ENTER_H
#define XP_CORE_ENTER_H

#include "core/queue.h"
#include "core/sleep.h"

/* The fork check and the lock; -EBADF. */
static inline int xp_enter(struct xpoll *queue)
{
	if (XP_UNLIKELY(queue->process != xp_process_current()))
		return -EBADF;
	xp_mutex_lock(&queue->lock);
	return 0;
}

/*
 * Is this thread the only one of its process, so that it stays so until the call
 * ends: no lock, and nobody else to think of?  false: it may not be, or the queue is
 * not of this process.
 */
static inline bool xp_may_enter_alone(const struct xpoll *queue)
{
	return XP_LIKELY(xp_single_threaded() && queue->process == xp_process_current());
}

static inline bool xp_enter_alone(struct xpoll *queue)
{
	bool alone = xp_may_enter_alone(queue);

	if (alone)
		xp_mutex_lock_alone(&queue->lock);
	return alone;
}

/* Where xp_enter_alone has failed. */
static inline int xp_enter_among_others(struct xpoll *queue)
{
	if (XP_UNLIKELY(queue->process != xp_process_current()))
		return -EBADF;
	xp_mutex_lock_among_others(&queue->lock);
	return 0;
}

/* Entered: something is going to be changed. */
static inline void xp_change_begins(struct xpoll *queue)
{
	if (XP_UNLIKELY(queue->threads.waiters > 0))
		xp_quiesce(queue);
}

/* Enter to change something. */
static inline int xp_enter_change(struct xpoll *queue)
{
	int rc = xp_enter(queue);

	if (rc == 0)
		xp_change_begins(queue);
	return rc;
}

/* The rest of leaving, where there is more than a mark to take away: the result. */
int xp_leave_late(struct xpoll *queue, int result);

/* Leave with the result of the call. */
static XP_INLINE int xp_leave_with(struct xpoll *queue, int result)
{
	if (XP_UNLIKELY(queue->unusual))
		return xp_leave_late(queue, result);
	xp_mutex_unlock(&queue->lock);
	return result;
}

/* The same where there is no other thread. */
static XP_INLINE int xp_leave_alone(struct xpoll *queue, int result)
{
	if (XP_UNLIKELY(queue->unusual))
		return xp_leave_late(queue, result);
	xp_mutex_unlock_alone(&queue->lock);
	return result;
}

static inline void xp_leave(struct xpoll *queue)
{
	(void)xp_leave_with(queue, 0);
}

#endif
