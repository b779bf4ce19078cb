/*
 * Threads that sleep in a queue.  All with the queue's lock held.
 *
 * Back ends that cannot serve several threads let one at a time into the
 * kernel, the leader; the others, followers, wait for their turn.
 */
#ifndef XP_CORE_SLEEP_H
#define XP_CORE_SLEEP_H

#include <pthread.h>

#include "base/assert.h"
#include "base/time.h"
#include "core/attention.h"
#include "core/child.h"
#include "core/levels.h"
#include "core/queue.h"
#include "core/timer_waiter.h"
#include "os/sys.h"

/*
 * All threads that sleep in the kernel come out and check again.  As with all kicks,
 * the system call is made when this thread has left the queue; one that waits for
 * others first makes it then.
 */
void xp_kick_all(struct xpoll *queue);
void xp_kick_due(struct xpoll *queue);

/* Until another thread signals `thread_left`. */
void xp_sleep_until_thread_left(struct xpoll *queue, struct xp_wait *wait);

/*
 * Who was called out calls the next one out, when it has checked what there is
 * for it and before it waits for anything: a kick in the kernel would be taken by
 * its own check.  Nobody goes to sleep in the kernel meanwhile, which wakes whom
 * it likes, and could wake that one again and again.
 */
void xp_kick_next(struct xpoll *queue, struct xp_wait *wait);
/* Others were being called out while this thread checked: it may have their kick. */
void xp_kick_taken(struct xp_wait *wait, const struct xp_fired *fired, int count);

/*
 * This thread leaves with what it has; others that sleep must not miss what
 * it leaves behind.
 */
void xp_pass_on(struct xpoll *queue);

/* Until nobody is in xpoll_wake any more. */
void xp_wake_await_writers(struct xpoll *queue);

/* Returns 1 if this thread has the turn, 0 if the wait is over, -EINTR, or -EBADF. */
int xp_turn_take(struct xpoll *queue, struct xp_wait *wait);
void xp_turn_pass(struct xpoll *queue);

static inline bool xp_concurrent(const struct xpoll *queue)
{
	return queue->ops->caps & XP_CAP_CONCURRENT;
}

/*
 * Does a mask of signals always cost next to nothing?  Where several threads are in
 * the kernel, whatever fires wakes all that have one.
 */
static inline bool xp_mask_is_free(const struct xpoll *queue)
{
	return queue->ops->caps & XP_CAP_MASK && !xp_concurrent(queue);
}

/*
 * There may be more.  But the deadline has passed, and what is registered does not
 * explain it any longer: each may have to be silenced, which takes some reports.  What
 * always says so, a back end or a kernel, keeps no wait.
 */
bool xp_wait_in_vain(const struct xpoll *queue, struct xp_wait *wait);

static inline bool xp_wait_deadline_passed(const struct xp_wait *wait)
{
	if (wait->deadline_ns == XP_NEVER)
		return false;
	return wait->deadline_ns == XP_NOW || xp_sys_now() >= wait->deadline_ns;
}

/*
 * And is it for the kernel to say so?  With a mask it is: a signal may have become
 * pending before the deadline.
 */
static inline bool xp_wait_deadline_over(const struct xp_wait *wait)
{
	return xp_wait_deadline_passed(wait) && (!wait->mask || wait->timed_out);
}

/* Make a back end's threads come out before something is changed. */
void xp_quiesce(struct xpoll *queue);

/*
 * Before the lock is released: if what this thread did concerns those that
 * sleep, and it did not take it itself, one of them comes out.  Once, however
 * much it did.
 */
void xp_settle(struct xpoll *queue);

/* Waits that hold signals back at once. */
enum { XP_UNTRIED_MOST = 8 };

/* Until when to sleep: see xp_sleep_deadline. */
int64_t xp_sleep_deadline_unusual(struct xpoll *queue, struct xp_wait *wait, bool alone);

/*
 * Until when to sleep.  Where the first sleep is likely to end in vain, one tries
 * without sleeping first, if the last that tried found something or a few did not
 * try: a busy queue then needs no system calls for holding signals back.  A thread
 * that is alone minds the moments of sources.
 */
static XP_INLINE int64_t xp_sleep_deadline(struct xpoll *queue, struct xp_wait *wait,
                                           bool alone)
{
	if (XP_UNLIKELY(queue->unusual || queue->vain > 0 || wait->mask || wait->slept))
		return xp_sleep_deadline_unusual(queue, wait, alone);
	wait->slept = true;
	return wait->deadline_ns;
}

/*
 * The only thread of its process sleeps: nobody can change, kick or cancel
 * anything meanwhile, but a signal handler may fork or call xpoll_wake.
 */
static XP_INLINE int xp_sleep_alone(struct xpoll *queue, struct xp_wait *wait, int cap)
{
	int64_t deadline_ns = xp_sleep_deadline(queue, wait, true);
	int direct_fd = xp_direct_fd(queue);
	int rc;

	wait->sequence = queue->sequence;
	xp_idle_begin(&queue->idle);
	xp_mutex_unlock_alone(&queue->lock);
	xp_cancel_alone();
	rc = XP_LIKELY(direct_fd >= 0 && !wait->mask &&
	               (deadline_ns == XP_NEVER || deadline_ns <= XP_PAST))
		? xp_sys_direct_wait(direct_fd, queue->alone.fired, cap, deadline_ns == XP_NEVER)
		: queue->ops->wait(queue->backend, deadline_ns, wait->mask, queue->alone.fired,
		                   cap);
	xp_mutex_lock_alone(&queue->lock);
	xp_idle_end(&queue->idle);
	return rc;
}

/* A sleeping thread's state, for when it is cancelled. */
struct xp_sleeper {
	struct xpoll *queue;
	const struct xp_wait *wait;
	uint32_t kick_epoch;
	uint32_t timer_waiter; /* not 0: it minds timer.until_ns */
	int64_t deadline_ns; /* here, not a local: those a longjmp may change */
	int place; /* negative: it does not sleep for its turn */
};

/* For pthread_cleanup_push: it was cancelled while it slept. */
void xp_sleep_cancelled(void *sleeper);

/*
 * A thread is about to sleep, and is back; xpoll_destroy waits for those.  In
 * between they have the lock, which holds it up as well.
 */
static inline void xp_inside_enter(struct xpoll *queue)
{
	queue->threads.inside++;
}

static inline void xp_inside_leave(struct xpoll *queue)
{
	queue->threads.inside--;
	queue->threads.sleeps++;
	if (XP_UNLIKELY(queue->threads.dying))
		pthread_cond_broadcast(&queue->thread_left);
}

/* Back from the kernel, with the lock.  True: it was called out. */
static inline bool xp_waiter_left(struct xpoll *queue, uint32_t kick_epoch)
{
	bool called = kick_epoch != queue->kick.epoch;

	XP_ASSERT(queue->threads.waiters > 0);
	queue->threads.waiters--;
	xp_timer_waiter_answered(queue);
	if (XP_UNLIKELY(called))
		queue->kick.waiters--;
	XP_ASSERT(queue->kick.waiters >= 0 && queue->kick.waiters <= queue->threads.waiters);
	if (XP_UNLIKELY(queue->threads.changers > 0 || (called && queue->kick.waiters == 0)))
		pthread_cond_broadcast(&queue->thread_left);
	return called;
}

/*
 * Let the back end wait; the lock is released meanwhile, and it is a
 * cancellation point.  The back end's result.  Inline: os/sys_hot.h says why.
 */
static XP_INLINE_CLEANUP int xp_sleep_in_kernel(struct xpoll *queue, struct xp_wait *wait,
                                        struct xp_fired *fired, int cap)
{
	int64_t deadline_ns = xp_sleep_deadline(queue, wait, false);
	struct xp_sleeper sleeper = {
		.queue = queue,
		.wait = wait,
		.deadline_ns = deadline_ns,
		.place = -1,
	};
	int rc, again;

	XP_ASSERT(!queue->kicked);
	if (queue->threads.waiters++ > 0)
		queue->turn.several = true;
	sleeper.kick_epoch = queue->kick.epoch;
	sleeper.timer_waiter = xp_timer_waiter_begin(queue, &sleeper.deadline_ns);
	wait->sequence = queue->sequence;
	/* This thread has just taken all that another was to be woken for. */
	queue->recheck_wanted = false;
	if (XP_UNLIKELY(queue->exposed))
		xp_update_attention(queue);
	xp_inside_enter(queue);
	xp_idle_begin(&queue->idle);
	xp_mutex_unlock(&queue->lock);
	pthread_cleanup_push(xp_sleep_cancelled, &sleeper);
	rc = queue->ops->wait(queue->backend, sleeper.deadline_ns, wait->mask, fired,
	                      cap);
	pthread_cleanup_pop(0);
	again = xp_lock_again(queue);
	if (XP_UNLIKELY(again < 0))
		return again;
	xp_idle_end(&queue->idle);
	if (rc == 0)
		wait->timed_out = sleeper.deadline_ns == deadline_ns;
	wait->kicker |= xp_waiter_left(queue, sleeper.kick_epoch);
	xp_timer_waiter_end(queue, sleeper.timer_waiter);
	xp_inside_leave(queue);
	return rc;
}

#endif
