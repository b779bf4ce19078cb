/*
 * Counts the threads that are in calls of one queue, makes them wake each other, and passes the
 * turn, the right to enter a back end that serves one thread at a time.
 */
#include "core/threads.h"

#include <string.h>

#include "core/candidates.h"
#include "core/due.h"
#include "core/outer.h"
#include "source/signal.h"
#include "sys/sys_threads.h"

/* --- Entering and leaving ----------------------------------------------------------- */

int xp_threads_init(struct xpoll *queue)
{
	int rc = xp_mutex_init(&queue->lock);

	if (rc < 0)
		return rc;
	rc = -pthread_cond_init(&queue->thread_returned, NULL);
	if (rc < 0)
		xp_mutex_fini(&queue->lock);
	return rc;
}

void xp_threads_fini(struct xpoll *queue)
{
	pthread_cond_destroy(&queue->thread_returned);
	xp_mutex_fini(&queue->lock);
}

/*
 * Called when a thread that had released the lock within a call has the lock again: no longer
 * counts the thread in threads.inside_unlocked.
 */
static void note_relock(struct xpoll *queue)
{
	XP_ASSERT(queue->threads.inside_unlocked > 0);
	queue->threads.inside_unlocked--;
	xp_wait_generation_end(queue);
	if (XP_UNLIKELY(queue->threads.dying))
		pthread_cond_broadcast(&queue->thread_returned);
}

int xp_lock_in_child(struct xpoll *queue)
{
	(void)xp_threads_forget(queue);
	xp_lock(queue);
	return -EINTR;
}

/*
 * Wake one sleeping thread if kick is true, and the followers (threads that wait for the turn) of
 * each group whose bit in `groups` is set.
 */
static void wake_threads(struct xpoll *queue, bool kick, unsigned groups)
{
	if (kick)
		queue->ops->wake(queue->backend);
	for (unsigned i = 0; i < XP_GROUPS; i++)
		if (groups & XP_BIT(i))
			xp_wakefd_signal(&queue->turn_wakefds[i]);
}

/*
 * Wake the threads for which kick.is_pending or turn.pending_groups is set now, not when the lock
 * is released: the calling thread is about to wait, which releases the lock without xp_unlock.
 */
static void wake_pending_now(struct xpoll *queue)
{
	wake_threads(queue, queue->kick.is_pending, queue->turn.pending_groups);
	queue->kick.is_pending = false;
	queue->turn.pending_groups = 0;
}

/*
 * Make the descriptors of these groups of followers (threads that wait for the turn) not readable,
 * so that they wake no follower any more.
 */
static void groups_clear(struct xpoll *queue, unsigned groups)
{
	for (unsigned i = 0; i < XP_GROUPS; i++)
		if (groups & XP_BIT(i))
			xp_wakefd_clear(&queue->turn_wakefds[i]);
}

void xp_wake_pending(struct xpoll *queue)
{
	bool kick = queue->kick.is_pending;
	unsigned groups = queue->turn.pending_groups;

	/*
	 * Release the lock before waking: a woken thread needs the lock at once, and would block.
	 */
	queue->kick.is_pending = false;
	queue->turn.pending_groups = 0;
	queue->threads.inside_unlocked++;
	xp_mutex_unlock(&queue->lock);
	wake_threads(queue, kick, groups);
	if (xp_lock_again(queue) == 0) {
		/*
		 * Followers may have returned, and cleared their groups' descriptors, before
		 * wake_threads wrote to these: clear them again, but not those of groups that were
		 * signalled again since.
		 */
		groups_clear(queue, groups & ~queue->turn.signalled);
		note_relock(queue);
	}
}

uint32_t xp_sleeper_enter(struct xpoll *queue)
{
	queue->threads.sleepers++;
	/* this thread has just polled, so no other thread has to */
	(void)xp_kick_take_request(queue);
	wake_pending_now(queue);
	queue->threads.inside_unlocked++;
	return queue->kick.sequence;
}

void xp_sleeper_leave(struct xpoll *queue, struct xp_wait *wait, uint32_t sequence)
{
	XP_ASSERT(xp_has_sleepers(queue));
	queue->threads.sleepers--;
	if (XP_UNLIKELY(sequence != queue->kick.sequence)) {
		queue->kick.unreturned--;
		wait->must_kick = true;
	}
	if (XP_UNLIKELY(queue->threads.waiting_changers > 0 || sequence != queue->kick.sequence))
		pthread_cond_broadcast(&queue->thread_returned);
	note_relock(queue);
}

/* --- Waking -------------------------------------------------------------------------- */

void xp_kick_one(struct xpoll *queue)
{
	queue->kick.is_pending |= xp_has_sleepers(queue);
}

/*
 * Have followers, threads that wait for the turn (the right to enter the back end), woken when the
 * lock is released.  A group of followers sleeps on one descriptor, so all of the group are woken.
 * all: wake all groups.  Otherwise wake only the first group that has followers, because only one
 * follower gets the turn; and wake none if followers of a group that was signalled before have not
 * returned yet, because one of these takes the turn.
 */
static void followers_signal(struct xpoll *queue, bool all)
{
	bool done = queue->turn.signalled && !all;

	for (unsigned i = 0; i < XP_GROUPS && !done; i++) {
		if (queue->turn.groups[i] == 0 || queue->turn.signalled & XP_BIT(i))
			continue;
		queue->turn.signalled |= XP_BIT(i);
		queue->turn.pending_groups |= XP_BIT(i);
		done = !all;
	}
}

/*
 * End the turn of this thread, its right to be in the back end, and have a group of followers
 * woken, of which one takes the turn.
 */
static void turn_pass(struct xpoll *queue)
{
	queue->turn.leader = false;
	followers_signal(queue, false);
}

void xp_kick_all(struct xpoll *queue)
{
	queue->kick.sequence++;
	queue->kick.unreturned = queue->threads.sleepers;
	queue->turn.unreturned = queue->turn.followers;
	xp_kick_one(queue);
	followers_signal(queue, true);
}

void xp_kicks_taken(struct xpoll *queue, struct xp_wait *wait, const struct xp_fired *fired, int rc)
{
	for (int i = 0; queue->kick.unreturned > 0 && i < rc; i++)
		wait->must_kick |= fired[i].token == XP_TOKEN_WAKE;
}

/*
 * xp_kick_all makes the sleeping threads return in a chain: each thread that a wake-up has reached
 * (must_kick) has the next one woken here.  Called only when this thread leaves the queue, or waits
 * in xp_await_thread_return: if it polled after this call, its poll could consume the next thread's
 * wake-up.  Until all have returned, wait_loop lets no thread begin a sleep, because the kernel
 * chooses which sleeping thread it wakes, and could choose one that need not return.
 */
static void kick_next(struct xpoll *queue, struct xp_wait *wait)
{
	if (wait->must_kick && queue->kick.unreturned > 0)
		xp_kick_one(queue);
	wait->must_kick = false;
}

void xp_await_thread_return(struct xpoll *queue, struct xp_wait *wait)
{
	xp_hold_signals(queue, wait);
	kick_next(queue, wait);
	wake_pending_now(queue);
	queue->threads.inside_unlocked++;
	xp_mutex_wait(&queue->lock, &queue->thread_returned);
	note_relock(queue);
}

void xp_hold_signals(struct xpoll *queue, struct xp_wait *wait)
{
	if (wait->holds_signals || (!wait->caller_mask && !xp_may_hold_signals(queue)))
		return;
	xp_sys_signals_hold(&wait->saved_mask);
	wait->holds_signals = true;
}

bool xp_must_return_eintr(struct xpoll *queue)
{
	bool handles;

	/*
	 * In a child that a signal handler forked, which does not own the queue, the wait has to
	 * end.
	 */
	if (!xp_process_owns(queue))
		return true;
	if (queue->restarts || !queue->lock.is_pthread_locked)
		return !queue->restarts && xp_signal_any_is_handled();
	/* xp_signal_any_is_handled makes many system calls: release the lock meanwhile. */
	queue->threads.inside_unlocked++;
	xp_mutex_unlock(&queue->lock);
	handles = xp_signal_any_is_handled();
	if (xp_lock_again(queue) < 0)
		return true;
	note_relock(queue);
	return handles;
}

/* --- Waits of xpoll_event exclude those of xpoll_pwait and xpoll_wait -------------------- */

bool xp_wait_excluded(const struct xpoll *queue, enum xp_format format)
{
	const int *waits = queue->in_wait;

	return format == XP_EVENTS ? waits[XP_READY] + waits[XP_BATCH] > 0
		: waits[XP_EVENTS] > 0 || (format == XP_BATCH && waits[XP_BATCH] > 0);
}

/*
 * Update *waits: how many of the next waits assume that other threads use the queue, or wait.  If
 * another thread sleeps now, the number becomes XP_RECENT_FOR; otherwise it is reduced by 1, unless
 * it is 0.
 */
static void expect_others(const struct xpoll *queue, uint8_t *waits)
{
	*waits = XP_SET(xp_has_sleepers(queue) ? XP_RECENT_FOR : *waits - (*waits > 0));
}

int xp_wait_admit(struct xpoll *queue, enum xp_format format)
{
	if (XP_UNLIKELY(xp_wait_excluded(queue, format)))
		return -EBUSY;
	queue->in_wait[format]++;
	expect_others(queue, &queue->threads.together);
	expect_others(queue, &queue->threads.shared);
	return 0;
}

void xp_wait_dismiss(struct xpoll *queue, struct xp_wait *wait, bool has_turn)
{
	/*
	 * This thread has polled, so let the next thread poll: one that xp_kick_all (make all
	 * sleeping threads return) has to wake, or a follower, which gets the turn.
	 */
	if (has_turn && xp_backend_is_concurrent(queue))
		kick_next(queue, wait);
	else if (has_turn)
		turn_pass(queue);
	/* Do not decrement 0: in a child that a signal handler forked the count was reset. */
	queue->in_wait[wait->format] -= queue->in_wait[wait->format] > 0;
	xp_kick_request(queue);
	if (xp_has_sleepers(queue) && queue->ops->rearm)
		queue->ops->rearm(queue->backend);
}

/* --- Turns, for back ends that serve one thread at a time -------------------------------- */

/*
 * The state of a follower, a thread that waits until it may enter the back end (the turn), for its
 * cleanup handler.
 */
struct follower {
	struct xpoll *queue;
	struct xp_wait *wait;
	uint32_t kick_sequence;
	int group;
};

/*
 * Stop counting a follower (a thread that waits for the turn) that was woken and has the lock.
 * Make the descriptors that wake followers not readable, unless they have to wake more for
 * xp_kick_all.
 */
static void follower_leave(const struct follower *follower)
{
	struct xpoll *queue = follower->queue;

	XP_ASSERT(queue->turn.followers > 0);
	xp_idle_end(queue);
	queue->turn.followers--;
	queue->turn.groups[follower->group]--;
	if (follower->kick_sequence != queue->kick.sequence && --queue->turn.unreturned == 0)
		pthread_cond_broadcast(&queue->thread_returned);
	/*
	 * The descriptors have woken all followers that have to return, or the one that takes the
	 * turn: make them not readable.  Those of groups in turn.pending_groups are not readable
	 * yet: their wake-up is cancelled.  Other followers that wake find the turn taken, and
	 * sleep again.
	 */
	if (queue->turn.unreturned == 0) {
		groups_clear(queue, queue->turn.signalled & ~queue->turn.pending_groups);
		queue->turn.signalled = queue->turn.pending_groups = 0;
	}
	note_relock(queue);
}

/*
 * Called if a follower, which waits for the turn, gives up: if no thread has the turn, have another
 * follower take it.
 */
static void turn_decline(struct xpoll *queue)
{
	if (!queue->turn.leader)
		turn_pass(queue);
}

/* Cleanup handler of a thread that is cancelled while it waits for the turn. */
static void follower_cancelled(void *argument)
{
	struct follower *follower = argument;
	struct xpoll *queue = follower->queue;

	xp_lock(queue);
	follower_leave(follower);
	turn_decline(queue);
	xp_wait_dismiss(queue, follower->wait, false);
	xp_unlock(queue);
	if (follower->wait->holds_signals)
		xp_sys_signals_release(&follower->wait->saved_mask);
}

/*
 * Sleep once as a follower, a thread that waits for the turn.  Returns the result of poll(2);
 * -EINTR also in a forked child.
 */
static int turn_await(struct xpoll *queue, struct xp_wait *wait)
{
	struct follower follower = {
		.queue = queue,
		.wait = wait,
		.kick_sequence = queue->kick.sequence,
		.group = queue->turn.groups[0] > 0,
	};
	struct pollfd turn = {
		.fd = queue->turn_wakefds[follower.group].fd,
		.events = POLLIN,
	};
	int rc;

	xp_hold_signals(queue, wait);
	if (xp_has_candidates(queue))
		xp_kick_one(queue); /* the thread in the back end returns and checks them */
	wake_pending_now(queue);
	queue->turn.followers++;
	queue->turn.groups[follower.group]++;
	queue->threads.inside_unlocked++;
	xp_idle_begin(queue);
	xp_mutex_unlock(&queue->lock);
	pthread_cleanup_push(follower_cancelled, &follower);
	rc = xp_sys_poll_wait(&turn, 1, wait->deadline_ns, xp_wait_mask(wait));
	pthread_cleanup_pop(0);
	if (XP_UNLIKELY(xp_lock_again(queue) < 0))
		return -EINTR;
	xp_wait_note_timeout(wait, rc, wait->deadline_ns);
	follower_leave(&follower);
	return rc;
}

int xp_turn_take(struct xpoll *queue, struct xp_wait *wait)
{
	while (queue->turn.leader) {
		int rc;

		if (queue->threads.dying)
			return -EBADF;
		if (xp_wait_has_expired(wait) || wait->wake_all_snapshot != queue->wake.all)
			return 0;
		/*
		 * An xp_kick_all makes all followers return.  Until all have returned, the
		 * descriptors on which followers sleep stay readable, and would wake this thread at
		 * once.  So wait until all have returned before this thread sleeps on one.
		 */
		if (queue->turn.unreturned > 0) {
			xp_await_thread_return(queue, wait);
			continue;
		}
		rc = turn_await(queue, wait);
		if (rc < 0 && !(rc == -EINTR && queue->restarts && xp_process_owns(queue))) {
			turn_decline(queue);
			return rc;
		}
	}
	queue->turn.leader = true;
	return 1;
}

void xp_quiesce(struct xpoll *queue)
{
	if (!xp_has_sleepers(queue))
		return;
	queue->threads.shared = XP_RECENT_FOR;
	if (xp_backend_is_concurrent(queue))
		return;
	queue->threads.waiting_changers++;
	queue->threads.inside_unlocked++;
	while (xp_has_sleepers(queue)) {
		xp_kick_one(queue);
		wake_pending_now(queue);
		xp_mutex_wait(&queue->lock, &queue->thread_returned);
	}
	note_relock(queue);
	if (--queue->threads.waiting_changers == 0)
		pthread_cond_broadcast(&queue->thread_returned);
}

/* --- The end ---------------------------------------------------------------------------- */

int xp_threads_forget(struct xpoll *queue)
{
	int rc;

	queue->threads.inconsistent = xp_is_inconsistent(queue);
	rc = xp_threads_init(queue);
	if (rc < 0)
		return rc;
	atomic_store(&queue->wake.state, 0);
	queue->threads.sleepers = queue->threads.inside_unlocked = 0;
	queue->threads.waiting_changers = 0;
	queue->kick.unreturned = 0;
	queue->kick.is_pending = false;
	(void)xp_kick_take_request(queue);
	memset(queue->in_wait, 0, sizeof queue->in_wait);
	queue->idle.ns = xp_idle_total(queue);
	queue->idle.sleepers = 0;
	xp_timer_waiter_forget(queue);
	memset(&queue->turn, 0, sizeof queue->turn);
	xp_outer_forget(queue);
	return 0;
}

/*
 * Wait until no thread uses the queue without its lock, as xpoll_wake does.  A thread in xpoll_wake
 * may be in a signal handler, which cannot signal a condition, so check again every millisecond.
 */
static void await_unpinned(struct xpoll *queue)
{
	while (xp_queue_is_pinned(queue))
		xp_nap(XP_NS_PER_MS);
}

void xp_threads_await_end(struct xpoll *queue)
{
	xp_mutex_lock(&queue->lock);
	queue->threads.dying = true;
	xp_kick_all(queue);
	wake_pending_now(queue);
	while (queue->threads.inside_unlocked > 0)
		xp_mutex_wait(&queue->lock, &queue->thread_returned);
	xp_mutex_unlock(&queue->lock);
	xp_late_await_all(queue);
	await_unpinned(queue);
}
