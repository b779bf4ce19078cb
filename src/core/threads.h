/*
 * How threads that call the same queue take its lock, are counted, wake each other and pass the
 * turn.  See docs/internals/locking.md.
 *
 * Turns are for back ends that serve one thread at a time: poll, select, /dev/poll.  Only the
 * thread that has the turn, the leader, enters the back end.  The other threads, followers, sleep
 * until they get the turn.  A thread that wants to change something makes the leader leave the back
 * end first, and waits until it has left.
 */
#ifndef XP_CORE_THREADS_H
#define XP_CORE_THREADS_H

#include <errno.h>

#include "core/marks.h"
#include "sys/sys.h"

/* Returns true if this process owns the queue; false in a forked child. */
static inline bool xp_process_owns(const struct xpoll *queue)
{
	return queue->process == xp_process_number();
}

/* Returns true if several threads may be in the back end's wait at the same time. */
static inline bool xp_backend_is_concurrent(const struct xpoll *queue)
{
	return queue->ops->caps & XP_CAP_CONCURRENT;
}

/*
 * Returns true if this thread is the only one of its process and the process owns the queue, so no
 * other thread can use the queue during the call.  NULL: false.
 */
static inline bool xp_is_alone(const struct xpoll *queue)
{
	return XP_LIKELY(xp_single_threaded() && queue) && xp_process_owns(queue);
}

static inline void xp_lock(struct xpoll *queue)
{
	xp_mutex_lock(&queue->lock);
}

/* Take the lock.  Returns -EINVAL if queue is NULL, -EBADF if another process owns it. */
static inline int xp_enter(struct xpoll *queue)
{
	if (XP_UNLIKELY(!queue))
		return -EINVAL;
	if (XP_UNLIKELY(!xp_process_owns(queue)))
		return -EBADF;
	xp_lock(queue);
	return 0;
}

/* Take the lock without an atomic operation, after xp_is_alone has returned true. */
static inline void xp_lock_alone(struct xpoll *queue)
{
	xp_mutex_lock_alone(&queue->lock);
}

static inline void xp_unlock_alone(struct xpoll *queue)
{
	xp_mutex_unlock_alone(&queue->lock);
}

/*
 * Returns true if the queue was entered without taking its mutex: the process has no other thread.
 */
static inline bool xp_entered_alone(const struct xpoll *queue)
{
	return !queue->lock.is_pthread_locked;
}

/*
 * Make the leader leave a back end that serves one thread at a time, because the caller is about to
 * change something that the leader uses.  May release the lock for a while.  On other back ends
 * this only records that several threads use the queue.
 */
void xp_quiesce(struct xpoll *queue);
/* Like xp_enter, for a change of something that a sleeping thread may be using. */
static inline int xp_enter_change(struct xpoll *queue)
{
	int rc = xp_enter(queue);

	if (rc == 0 && XP_UNLIKELY(xp_has_sleepers(queue)))
		xp_quiesce(queue);
	return rc;
}

/*
 * Release the lock before a sleep.  Unlike xp_unlock this wakes no thread: xp_sleeper_enter has
 * done so, or the process has no other thread.
 */
static inline void xp_unlock_to_sleep(struct xpoll *queue)
{
	xp_mutex_unlock(&queue->lock);
}
/*
 * Wake the threads that were left for the release of the lock: a sleeping one, which has to poll
 * (kick.is_pending), and followers, which wait for the turn (turn.pending_groups).  Releases the
 * lock meanwhile, and returns with the lock.
 */
void xp_wake_pending(struct xpoll *queue);
/* Release the lock, and wake the threads that were left for this moment. */
static inline void xp_unlock(struct xpoll *queue)
{
	if (XP_UNLIKELY(queue->kick.is_pending || queue->turn.pending_groups))
		xp_wake_pending(queue);
	xp_mutex_unlock(&queue->lock);
}

/*
 * Count a thread that is about to sleep in the back end.  Now, and not when the lock is released,
 * wake the threads that have to return: a sleeping one (kick.is_pending), and followers, which wait
 * for the turn (turn.pending_groups).  Returns kick.sequence, which shows after the sleep whether
 * xp_kick_all was called.
 */
uint32_t xp_sleeper_enter(struct xpoll *queue);
/* Call after the sleep, with the lock; sequence: the result of xp_sleeper_enter. */
void xp_sleeper_leave(struct xpoll *queue, struct xp_wait *wait, uint32_t sequence);
/*
 * Called after a sleep in a child that a signal handler forked meanwhile: forgets the threads of
 * the parent, takes the lock, and returns -EINTR.
 */
int xp_lock_in_child(struct xpoll *queue);
/* Take the lock after a sleep.  Returns 0, or -EINTR in a child that a signal handler forked. */
static inline int xp_lock_again(struct xpoll *queue)
{
	if (XP_UNLIKELY(!xp_process_owns(queue)))
		return xp_lock_in_child(queue);
	xp_lock(queue);
	return 0;
}

/* Have one sleeping thread woken when the lock is released; that thread polls again. */
void xp_kick_one(struct xpoll *queue);
/*
 * Make all threads that sleep in the back end return and poll, one after another, since each woken
 * thread wakes the next.  Also make all followers return, the threads that wait until a back end
 * that serves one thread at a time is free.
 */
void xp_kick_all(struct xpoll *queue);
/*
 * Call after a poll that did not sleep, while an xp_kick_all makes all sleeping threads return.  If
 * there is a wake-up among these rc reports, the poll has taken the wake-up from a sleeping thread:
 * record that the calling thread has to wake the next one (must_kick).
 */
void xp_kicks_taken(struct xpoll *queue, struct xp_wait *wait, const struct xp_fired *fired,
                    int rc);

/*
 * Release the lock until thread_returned is signalled: other threads have returned from their
 * sleep, or no thread waits in xp_quiesce any more.
 */
void xp_await_thread_return(struct xpoll *queue, struct xp_wait *wait);
/*
 * Returns true if a wait without a mask of its caller may block signals between its sleeps: a sleep
 * with a mask costs little here, and the queue has no XPOLL_RESTART.  On epoll and kqueue a thread
 * with blocked signals sleeps in poll(2) instead of the kernel's wait, and one report wakes every
 * thread that sleeps so.  So there this returns false if several threads wait or have waited a
 * short time ago (threads.together), unless the process has one thread now.  Such a poll(2) also
 * clears the bits of some files, which the kernel's wait then does not report: so this returns
 * false once the queue has had one (has_cleared_file).
 */
static inline bool xp_may_hold_signals(const struct xpoll *queue)
{
	return queue->ops->caps & XP_CAP_CHEAP_MASK && !queue->restarts &&
		!queue->has_cleared_file && (!xp_backend_is_concurrent(queue) ||
		                             !queue->threads.together || xp_entered_alone(queue));
}

/*
 * Block all signals between the sleeps of a wait, if that is needed.  A wait may sleep several
 * times, but to its caller it is one sleep, which a signal has to end whenever it comes.
 */
void xp_hold_signals(struct xpoll *queue, struct xp_wait *wait);
/*
 * Returns true if a wait has to return the EINTR of its sleep: the program has a signal handler
 * (otherwise the cause is something like a stop and continue), and the queue has no XPOLL_RESTART.
 * Also true in a child that a signal handler forked.
 */
bool xp_must_return_eintr(struct xpoll *queue);

/*
 * Returns true if no wait of this format may begin now.  Waits of xpoll_event exclude those of
 * xpoll_pwait and xpoll_wait (the poll-like level), and vice versa; a wait of xpoll_wait (XP_BATCH)
 * also excludes another one, because the queue has one batch.
 */
bool xp_wait_excluded(const struct xpoll *queue, enum xp_format format);
/* Count a wait that begins.  Returns -EBUSY if xp_wait_excluded forbids it. */
int xp_wait_admit(struct xpoll *queue, enum xp_format format);
/*
 * Call at the end of a wait that xp_wait_admit has counted.  If threads sleep, records that one has
 * to be woken for events that this wait leaves.  has_turn: this thread was allowed into the back
 * end; so it lets the next thread in, if the back end serves one at a time, or wakes the next one,
 * if an xp_kick_all makes all sleeping threads return one after another.
 */
void xp_wait_dismiss(struct xpoll *queue, struct xp_wait *wait, bool has_turn);

static inline bool xp_deadline_passed(const struct xp_wait *wait)
{
	return wait->deadline_ns == XP_NOW ||
		(wait->deadline_ns != XP_NEVER && xp_sys_now() >= wait->deadline_ns);
}

/* Returns the signal mask to apply during a sleep; NULL: leave the thread's present mask. */
static inline const sigset_t *xp_wait_mask(const struct xp_wait *wait)
{
	return !wait->caller_mask && wait->holds_signals ? &wait->saved_mask : wait->caller_mask;
}

/*
 * Record whether a sleep until until_ns, with result rc of the back end's wait, reached the
 * deadline.
 */
static inline void xp_wait_note_timeout(struct xp_wait *wait, int rc, int64_t until_ns)
{
	wait->timed_out = rc == 0 && until_ns >= wait->deadline_ns;
}

/*
 * Returns true if the deadline has passed.  If sleeps apply a signal mask, the clock is not enough:
 * a signal that arrived before the deadline, and that only a sleep unblocks, must not be missed.
 * So then the last sleep must also have ended by a timeout.
 */
static inline bool xp_wait_has_expired(const struct xp_wait *wait)
{
	return xp_deadline_passed(wait) && (!xp_wait_mask(wait) || wait->timed_out);
}

/*
 * Wait until this thread may enter a back end that serves one thread at a time.  Returns 1: this
 * thread has the turn; 0: the wait is over, without the turn; -EBADF: the queue is being destroyed;
 * -EINTR or another error of poll(2).
 */
int xp_turn_take(struct xpoll *queue, struct xp_wait *wait);

/* Begin to count the time of a sleep, for xpoll_stats. */
static inline void xp_idle_begin(struct xpoll *queue)
{
	if (XP_UNLIKELY(queue->idle.counted)) {
		queue->idle.sleepers++;
		queue->idle.ns -= (uint64_t)xp_sys_now();
	}
}

/*
 * End the count of xp_idle_begin.  Nothing is counted in a child that a signal handler forked
 * during the sleep, because xp_threads_forget has reset the counts.
 */
static inline void xp_idle_end(struct xpoll *queue)
{
	if (XP_UNLIKELY(queue->idle.sleepers > 0)) {
		queue->idle.sleepers--;
		queue->idle.ns += (uint64_t)xp_sys_now();
	}
}

/* Returns the total time of all sleeps in nanoseconds, including those that are not over yet. */
static inline uint64_t xp_idle_total(const struct xpoll *queue)
{
	return queue->idle.sleepers == 0 ? queue->idle.ns
		: queue->idle.ns + (uint64_t)queue->idle.sleepers * (uint64_t)xp_sys_now();
}

/* Initialise the lock and the condition variable.  Returns 0 or a negative errno value. */
int xp_threads_init(struct xpoll *queue);
void xp_threads_fini(struct xpoll *queue);
/*
 * In a forked child: initialise the lock and the condition variable again, and reset the counts of
 * the parent's threads.
 */
int xp_threads_forget(struct xpoll *queue);
/*
 * In a forked child: returns true if a thread of the parent had the lock during the fork, so the
 * tables may be half changed.
 */
static inline bool xp_is_inconsistent(const struct xpoll *queue)
{
	return queue->threads.inconsistent || queue->lock.is_held;
}

/*
 * Begin to destroy the queue: make its sleeping threads return, and wait until no thread is in any
 * of its calls.
 */
void xp_threads_await_end(struct xpoll *queue);

#endif
