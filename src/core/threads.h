/*
 * The threads in a queue: how they take its lock, are counted, wake each other, and take
 * turns.  See docs/internals/locking.md.
 *
 * Turns are for back ends that serve one thread at a time: poll, select, /dev/poll.  The
 * thread that has the turn, the leader, is in the back end.  Others, followers, sleep until
 * they get it.  A thread that changes something makes the leader come out, and
 * waits until it has.
 */
#ifndef XP_CORE_THREADS_H
#define XP_CORE_THREADS_H

#include <errno.h>

#include "core/marks.h"
#include "core/process.h"
#include "sys/sys.h"

static inline bool xp_is_concurrent(const struct xpoll *queue)
{
	return queue->ops->caps & XP_CAP_CONCURRENT;
}

/* This thread is the only one of its process, so nobody else uses the queue before it leaves. */
static inline bool xp_is_alone(const struct xpoll *queue)
{
	return XP_LIKELY(xp_single_threaded() && queue) && xp_process_owns(queue);
}

static inline void xp_lock(struct xpoll *queue)
{
	xp_mutex_lock(&queue->lock);
}

/* Take the lock.  -EINVAL: no queue; -EBADF: it is of another process. */
static inline int xp_enter(struct xpoll *queue)
{
	if (XP_UNLIKELY(!queue))
		return -EINVAL;
	if (XP_UNLIKELY(!xp_process_owns(queue)))
		return -EBADF;
	xp_lock(queue);
	return 0;
}

/* Take and release the lock, where xp_is_alone has returned true. */
static inline void xp_lock_alone(struct xpoll *queue)
{
	xp_mutex_lock_alone(&queue->lock);
}

static inline void xp_unlock_alone(struct xpoll *queue)
{
	xp_mutex_unlock_alone(&queue->lock);
}

/* The queue was entered without taking its mutex: no other thread is in the process. */
static inline bool xp_entered_alone(const struct xpoll *queue)
{
	return !queue->lock.taken;
}

/* Make the leader leave a back end that serves one thread: the caller changes what it uses. */
void xp_quiesce(struct xpoll *queue);
/* Take the lock to change something that a sleeping thread may be using. */
static inline int xp_enter_change(struct xpoll *queue)
{
	int rc = xp_enter(queue);

	if (rc == 0 && XP_UNLIKELY(xp_has_sleepers(queue)))
		xp_quiesce(queue);
	return rc;
}

/* Release the lock before a sleep. */
static inline void xp_unlock_to_sleep(struct xpoll *queue)
{
	xp_mutex_unlock(&queue->lock);
}
/* Make the wake-ups that are due, and release the lock. */
void xp_unlock(struct xpoll *queue);

/* A thread is about to sleep, and is back.  xpoll_destroy waits for those in between. */
void xp_inside_enter(struct xpoll *queue);
void xp_inside_leave(struct xpoll *queue);
/* A thread goes into the back end's wait; returns kick.epoch. */
uint32_t xp_sleeper_enter(struct xpoll *queue);
/* The thread is back from that wait.  epoch: the result of xp_sleeper_enter. */
void xp_sleeper_leave(struct xpoll *queue, struct xp_wait *wait, uint32_t epoch);
/* Take the lock after a sleep.  -EINTR: a handler has forked, and this is the child. */
int xp_lock_in_child(struct xpoll *queue);
static inline int xp_lock_again(struct xpoll *queue)
{
	if (XP_UNLIKELY(!xp_process_owns(queue)))
		return xp_lock_in_child(queue);
	xp_lock(queue);
	return 0;
}

/* One thread that sleeps comes out and looks, when the lock is released. */
void xp_kick_one(struct xpoll *queue);
/* All threads that sleep now come out: each wakes the next. */
void xp_kick_all(struct xpoll *queue);
/* These reports of a look may have taken a wake-up for a thread that has to come out. */
void xp_kicks_taken(struct xpoll *queue, struct xp_wait *wait, const struct xp_fired *fired,
                    int rc);
/* A thread that was woken has looked: it wakes the next of those that have to come out. */
void xp_kick_next(struct xpoll *queue, struct xp_wait *wait);
/* Before this thread waits: wake those that are to be woken. */
void xp_kick_due(struct xpoll *queue);

/* Wait for a thread to come out, or to leave. */
void xp_await_left(struct xpoll *queue, struct xp_wait *wait);
/*
 * A wait may sleep several times, which its caller takes for one sleep.  A signal between
 * two of them has to end the wait, so it is held back and handled in the next sleep.
 */
void xp_hold_signals(struct xpoll *queue, struct xp_wait *wait);
/* Returns true if the EINTR of a sleep is due to a signal handler, and not to a stop. */
bool xp_is_interrupted(struct xpoll *queue);

/* Returns true if a wait of this format may not begin: a thread is in one of another. */
bool xp_wait_excluded(const struct xpoll *queue, enum xp_format format);
/* A wait beside other threads begins; -EBUSY: it may not. */
int xp_wait_admit(struct xpoll *queue, enum xp_format format);
/*
 * A wait that xp_wait_admit has let in ends.  If it leaves something, another thread that sleeps
 * has to take it.  has_turn: this thread was in the back end, and now lets the next one look.
 */
void xp_wait_dismiss(struct xpoll *queue, struct xp_wait *wait, bool has_turn);

static inline bool xp_deadline_passed(const struct xp_wait *wait)
{
	return wait->deadline_ns == XP_NOW ||
		(wait->deadline_ns != XP_NEVER && xp_sys_now() >= wait->deadline_ns);
}

/* The signal mask while the thread sleeps; NULL: its own. */
static inline const sigset_t *xp_wait_mask(const struct xp_wait *wait)
{
	return !wait->own_mask && wait->holds ? &wait->blocked : wait->own_mask;
}

/* The thread has slept until this time, with this result of the back end. */
static inline void xp_wait_slept(struct xp_wait *wait, int rc, int64_t until_ns)
{
	wait->timed_out = rc == 0 && until_ns >= wait->deadline_ns;
}

/* With a mask the kernel has to say so: a signal may have come before the deadline. */
static inline bool xp_deadline_over(const struct xp_wait *wait)
{
	return xp_deadline_passed(wait) && (!xp_wait_mask(wait) || wait->timed_out);
}

/* 1: this thread has the turn; 0: the wait is over; -EINTR, -EBADF. */
int xp_turn_take(struct xpoll *queue, struct xp_wait *wait);
void xp_turn_pass(struct xpoll *queue);

/* The time that threads sleep, for xpoll_stats.  A thread is about to sleep in the kernel. */
static inline void xp_idle_begin(struct xpoll *queue)
{
	if (XP_UNLIKELY(queue->idle.counted)) {
		queue->idle.sleepers++;
		queue->idle.ns -= (uint64_t)xp_sys_now();
	}
}

/* The thread is back.  In a child that a signal handler has forked no sleep is counted. */
static inline void xp_idle_end(struct xpoll *queue)
{
	if (XP_UNLIKELY(queue->idle.sleepers > 0)) {
		queue->idle.sleepers--;
		queue->idle.ns += (uint64_t)xp_sys_now();
	}
}

/* Returns the time that all threads have slept, up to now for those that still sleep. */
static inline uint64_t xp_idle_total(const struct xpoll *queue)
{
	return queue->idle.sleepers == 0 ? queue->idle.ns
		: queue->idle.ns + (uint64_t)queue->idle.sleepers * (uint64_t)xp_sys_now();
}

/* Make the lock and the condition; 0 or a negative errno value. */
int xp_threads_init(struct xpoll *queue);
void xp_threads_fini(struct xpoll *queue);
/* In a forked child: no thread is here but this one. */
int xp_threads_forget(struct xpoll *queue);
/* A thread of the parent's was inside, so the tables may be half changed. */
static inline bool xp_is_torn(const struct xpoll *queue)
{
	return queue->threads.torn || queue->lock.inside;
}

/* The queue ends: until no thread is in any of its calls. */
void xp_threads_await_end(struct xpoll *queue);

#endif
