/*
 * How threads sleep in a queue, and how they wake each other: see
 * docs/internals/locking.md.
 */
#include "core/sleep.h"

#include <errno.h>
#include <pthread.h>

#include "base/assert.h"
#include "core/attention.h"
#include "core/candidate.h"
#include "core/child.h"
#include "core/deliver.h"
#include "core/enter.h"
#include "core/entry.h"
#include "core/recheck.h"
#include "core/timer_waiter.h"
#include "os/sys.h"
#include "os/sys_threads.h"

enum {
	FLUSH_CAP = 64,
	/* Waits that hold signals back at once, after a sleep in vain. */
	VAIN_FOR = 64,
};

/* After any change of what is due when the lock is released. */
static void kicks_noted(struct xpoll *queue)
{
	queue->kicked = queue->kick.due || queue->turn.places.due;
}

/* One thread that sleeps in the kernel comes out and checks again. */
static void kick_one(struct xpoll *queue)
{
	queue->kick.due |= queue->threads.waiters > 0;
	kicks_noted(queue);
}

void xp_kick_due(struct xpoll *queue)
{
	if (queue->kick.due)
		queue->ops->wake(queue->backend);
	queue->kick.due = false;
	xp_places_write(&queue->turn.places, queue->turn.places.due);
	queue->turn.places.due = 0;
	queue->kicked = false;
}

void xp_kick_all(struct xpoll *queue)
{
	queue->kick.epoch++;
	queue->kick.waiters = queue->threads.waiters;
	queue->turn.called = queue->turn.followers;
	kick_one(queue);
	xp_places_signal_all(&queue->turn.places);
	kicks_noted(queue);
}

/*
 * A wait may sleep several times, which its caller takes for once: a signal
 * between two sleeps has to interrupt the next one.  So signals are held back, and
 * handled in the sleeps only: see docs/internals/locking.md for where.
 */
static void hold_signals(struct xpoll *queue, struct xp_wait *wait)
{
	bool alone = queue->ops->caps & XP_CAP_MASK && !queue->turn.several;

	if (wait->holds || !(alone || xp_mask_is_free(queue) || wait->mask))
		return;
	if (!wait->held)
		wait->held = &queue->alone.held;
	xp_sys_signals_hold(wait->held);
	wait->holds = true;
	wait->slept = true;
	if (!wait->mask)
		wait->mask = wait->held;
}

void xp_sleep_until_thread_left(struct xpoll *queue, struct xp_wait *wait)
{
	hold_signals(queue, wait);
	xp_kick_next(queue, wait);
	xp_kick_due(queue);
	xp_inside_enter(queue);
	xp_mutex_wait(&queue->lock, &queue->thread_left);
	xp_inside_leave(queue);
}

void xp_kick_next(struct xpoll *queue, struct xp_wait *wait)
{
	if (wait->kicker && queue->kick.waiters > 0)
		kick_one(queue);
	wait->kicker = false;
}

static void follower_left(struct xpoll *queue, const struct xp_sleeper *sleeper)
{
	XP_ASSERT(queue->turn.followers > 0 && queue->turn.places.sleepers[sleeper->place] > 0);
	queue->turn.followers--;
	queue->turn.places.sleepers[sleeper->place]--;
	if (sleeper->kick_epoch != queue->kick.epoch && --queue->turn.called == 0)
		pthread_cond_broadcast(&queue->thread_left);
	XP_ASSERT(queue->turn.called >= 0 && queue->turn.called <= queue->turn.followers);
	/* If nobody has the turn it is this thread's now. */
	if (queue->turn.called == 0)
		xp_places_clear(&queue->turn.places);
	kicks_noted(queue);
}

void xp_turn_pass(struct xpoll *queue)
{
	queue->turn.leader = false;
	xp_places_signal_one(&queue->turn.places);
	kicks_noted(queue);
}

/* One sleeper comes out, for whatever reason: it checks everything. */
static void call_one(struct xpoll *queue)
{
	kick_one(queue);
	if (xp_timer_waiter_missing(queue))
		xp_timer_waiter_called(queue);
}

/* The file of this token turned out to be closed: its registrations end. */
static void drop_closed(struct xpoll *queue, const struct xp_fired *fired)
{
	int fd = xp_token_fd(fired->token);
	struct xp_slot *slot = xp_slots_get(&queue->slots, fd);

	if (slot->present && xp_slot_is_of(slot, fired->token))
		xp_entry_drop(queue, fd, slot);
}

/*
 * Is there anything that a sleeping thread has to check?  Threads of the poll-like level
 * leave events of sources alone.
 */
static bool left_for_sleepers(const struct xpoll *queue)
{
	return queue->candidates.len > 0 || !xp_list_empty(&queue->unpollable.awake) ||
		(!xp_list_empty(&queue->registrations.active) && !xp_poll_level_waits(queue)) ||
		xp_timer_waiter_missing(queue);
}

/* Have the kernel know of all changes. */
static void flush_changes(struct xpoll *queue)
{
	struct xp_fired fired[FLUSH_CAP];

	while (queue->ops->has_pending(queue->backend)) {
		int count = queue->ops->flush(queue->backend, fired, FLUSH_CAP);

		if (count < 0)
			return;
		for (int i = 0; i < count; i++)
			drop_closed(queue, &fired[i]);
	}
}

/* Others do not take changes along: they sleep already. */
static void flush_for_others(struct xpoll *queue)
{
	if (queue->ops->flush && (queue->threads.waiters > 0 || queue->exposed))
		flush_changes(queue);
}

void xp_pass_on(struct xpoll *queue)
{
	queue->recheck_wanted = false;
	flush_for_others(queue);
	if (queue->threads.waiters == 0)
		return;
	if (queue->candidates.len > 0)
		xp_candidates_publish(queue);
	if (queue->ops->rearm)
		queue->ops->rearm(queue->backend);
	if (left_for_sleepers(queue) || xp_wake_is_pending(queue))
		call_one(queue);
}

void xp_settle(struct xpoll *queue)
{
	bool wanted = queue->recheck_wanted && queue->threads.waiters > 0;

	queue->recheck_wanted = false;
	flush_for_others(queue);
	if (wanted && left_for_sleepers(queue))
		call_one(queue);
	if (queue->exposed)
		xp_update_attention(queue);
}

/* A thread that was woken under the lock would find it taken, and sleep again. */
static void kick_unlocked(struct xpoll *queue)
{
	bool kick = queue->kick.due;
	unsigned places = queue->turn.places.due;

	queue->kick.due = false;
	queue->turn.places.due = 0;
	queue->kicked = false;
	xp_inside_enter(queue);
	xp_mutex_unlock(&queue->lock);
	if (kick)
		queue->ops->wake(queue->backend);
	xp_places_write(&queue->turn.places, places);
	if (xp_lock_again(queue) < 0)
		return;
	xp_places_written(&queue->turn.places, places);
	xp_inside_leave(queue);
}

XP_NOINLINE int xp_leave_late(struct xpoll *queue, int result)
{
	if (queue->exposed || queue->recheck_wanted)
		xp_settle(queue);
	if (queue->kicked)
		kick_unlocked(queue);
	xp_mutex_unlock(&queue->lock);
	return result;
}

void xp_sleep_cancelled(void *opaque)
{
	struct xp_sleeper *sleeper = opaque;
	struct xpoll *queue = sleeper->queue;

	xp_mutex_lock(&queue->lock);
	xp_idle_end(&queue->idle);
	if (sleeper->place >= 0) {
		follower_left(queue, sleeper);
		if (!queue->turn.leader)
			xp_turn_pass(queue);
	} else {
		if (xp_waiter_left(queue, sleeper->kick_epoch) && queue->kick.waiters > 0)
			kick_one(queue);
		xp_timer_waiter_end(queue, sleeper->timer_waiter);
		if (!xp_concurrent(queue))
			xp_turn_pass(queue);
		/* The kernel may just have handed something to this thread. */
		xp_candidates_all(queue);
		xp_pass_on(queue);
	}
	xp_wait_forget(queue, sleeper->wait);
	xp_inside_leave(queue);
	xp_kick_due(queue);
	xp_mutex_unlock(&queue->lock);
	if (sleeper->wait->holds)
		xp_sys_signals_release(sleeper->wait->held);
}

void xp_kick_taken(struct xp_wait *wait, const struct xp_fired *fired, int count)
{
	for (int i = 0; i < count; i++)
		wait->kicker |= fired[i].token == XP_TOKEN_WAKE;
}

static int sleep_for_turn(struct xpoll *queue, struct xp_wait *wait)
{
	struct xp_sleeper sleeper = {
		.queue = queue,
		.wait = wait,
		.kick_epoch = queue->kick.epoch,
		.place = xp_places_take(&queue->turn.places),
	};
	struct pollfd turn = {
		.fd = queue->turn.places.wakefds[sleeper.place].fd,
		.events = POLLIN,
	};
	int rc, again;

	hold_signals(queue, wait);
	xp_kick_due(queue);
	queue->turn.followers++;
	xp_inside_enter(queue);
	xp_idle_begin(&queue->idle);
	xp_mutex_unlock(&queue->lock);
	pthread_cleanup_push(xp_sleep_cancelled, &sleeper);
	rc = xp_sys_poll_wait(&turn, 1, wait->deadline_ns, wait->mask);
	pthread_cleanup_pop(0);
	again = xp_lock_again(queue);
	if (XP_UNLIKELY(again < 0))
		return again;
	xp_idle_end(&queue->idle);
	wait->timed_out = rc == 0;
	follower_left(queue, &sleeper);
	xp_inside_leave(queue);
	return rc;
}

int xp_turn_take(struct xpoll *queue, struct xp_wait *wait)
{
	while (queue->turn.leader) {
		int rc;

		if (queue->threads.dying)
			return -EBADF;
		if (xp_wait_deadline_over(wait) || wait->wake_all != queue->wake.all)
			return 0;
		/* The turn is signalled for those that were called, not for this one. */
		if (queue->turn.called > 0) {
			xp_sleep_until_thread_left(queue, wait);
			continue;
		}
		rc = sleep_for_turn(queue, wait);
		if (rc < 0) {
			/* The turn may have come just then: it is another's. */
			if (!queue->turn.leader)
				xp_turn_pass(queue);
			return rc;
		}
	}
	queue->turn.leader = true;
	return 1;
}

bool xp_wait_in_vain(const struct xpoll *queue, struct xp_wait *wait)
{
	enum { LEAST = 64, EACH = 16 };

	return ++wait->fruitless > LEAST &&
		wait->fruitless > LEAST + EACH *
			queue->counters.registered &&
		xp_wait_deadline_passed(wait);
}

void xp_quiesce(struct xpoll *queue)
{
	if (queue->ops->caps & XP_CAP_CONCURRENT)
		return;
	/* Whoever is about to wait lets this thread in first. */
	queue->threads.changers++;
	queue->awaited = true;
	queue->threads.inside++;
	while (queue->threads.waiters > 0) {
		kick_one(queue);
		xp_kick_due(queue);
		xp_mutex_wait(&queue->lock, &queue->thread_left);
	}
	XP_ASSERT(queue->threads.inside > 0 && queue->threads.changers > 0);
	queue->threads.inside--;
	queue->threads.sleeps++;
	if (--queue->threads.changers == 0 || queue->threads.dying)
		pthread_cond_broadcast(&queue->thread_left);
}

/* The same where the first sleep may end in vain. */
static int64_t deadline_in_doubt(struct xpoll *queue, struct xp_wait *wait)
{
	if (!wait->slept) {
		if (queue->untried == 0)
			return XP_PAST;
		queue->untried--;
		/* Where a mask costs nothing, it stays at 1. */
		queue->vain -= queue->vain > 1 ||
			(queue->vain == 1 && !xp_mask_is_free(queue));
	} else if (!wait->holds) {
		queue->vain = VAIN_FOR;
	}
	wait->slept = true;
	wait->timed_out = false;
	hold_signals(queue, wait);
	/* XP_NOW would neither sleep nor apply the mask. */
	return wait->deadline_ns == XP_NOW ? XP_PAST : wait->deadline_ns;
}

XP_NOINLINE int64_t xp_sleep_deadline_unusual(struct xpoll *queue, struct xp_wait *wait,
                                              bool alone)
{
	bool doubt = wait->slept || queue->vain > 0 || wait->mask ||
		queue->due_ns < wait->deadline_ns;
	int64_t deadline_ns = doubt ? deadline_in_doubt(queue, wait) : wait->deadline_ns;

	wait->slept |= !doubt;
	wait->tried = deadline_ns == XP_PAST;
	wait->cut = alone && queue->due_ns < deadline_ns;
	return wait->cut ? queue->due_ns : deadline_ns;
}

/*
 * Who destroys the queue waits for those that write, mostly for a microsecond.  They
 * may be signal handlers, which cannot signal a condition: so it looks again and again.
 */
#define WRITERS_EVERY_NS XP_NS_PER_MS

void xp_wake_await_writers(struct xpoll *queue)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t nobody;

	if (atomic_load(&queue->wake.state) < XP_WAKE_WRITER ||
	    xp_sys_cond_init(&nobody) < 0)
		return;
	pthread_mutex_lock(&mutex);
	while (atomic_load(&queue->wake.state) >= XP_WAKE_WRITER)
		(void)xp_sys_cond_wait(&nobody, &mutex, xp_sys_now() + WRITERS_EVERY_NS);
	pthread_mutex_unlock(&mutex);
	pthread_cond_destroy(&nobody);
}
