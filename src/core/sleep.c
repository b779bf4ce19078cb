/* How a call leaves a queue, and how a wait sleeps. */
#include "core/sleep.h"

#include "core/candidates.h"
#include "core/check.h"
#include "core/entry.h"
#include "core/sources.h"

/*
 * Pass the changes that the back end has collected for its next wait to the kernel now, because
 * threads that sleep already have begun their waits without these changes.  Drops the slots whose
 * files are closed.
 */
static void flush_changes(struct xpoll *queue)
{
	struct xp_fired fired[XP_FIRED_MOST];

	while (queue->ops->has_pending(queue->backend)) {
		int count = queue->ops->flush(queue->backend, fired, XP_FIRED_MOST);

		for (int i = 0; i < count; i++) {
			int fd = xp_token_fd(fired[i].token);
			struct xp_slot *slot = xp_slots_get(queue, fd);

			if (slot->present && xp_slot_token_is_live(slot, fired[i].token))
				xp_entry_drop(queue, fd, slot);
		}
		if (count < 0)
			return;
	}
}

/*
 * Returns true if the queue has something that a sleeping thread has to find by polling, because
 * the kernel does not report it: slots to check by poll(2) (candidates), active sources, and so on.
 */
static bool must_wake_sleeper(const struct xpoll *queue)
{
	return xp_has_candidates(queue) || !xp_list_empty(&queue->files.awake) ||
		(xp_sources_active(queue) && !xp_wait_excluded(queue, XP_EVENTS)) ||
		xp_timer_waiter_missing(queue) || xp_wake_is_pending(queue);
}

/*
 * Leave the remaining events to the sleeping threads: change the kernel's entries of candidates
 * (slots to check by poll(2)), so that the kernel reports them, or wake one of these threads, which
 * then polls.
 */
static void leave_to_sleepers(struct xpoll *queue)
{
	if (xp_has_candidates(queue)) {
		if (xp_backend_is_concurrent(queue))
			xp_candidates_to_kernel(queue);
		else
			xp_kick_request(queue);
	}
	if (xp_kick_take_request(queue) && must_wake_sleeper(queue)) {
		xp_kick_one(queue);
		if (xp_timer_waiter_missing(queue))
			xp_timer_wakeup_sent(queue);
	}
}

int xp_leave_to_others(struct xpoll *queue, int rc)
{
	if (xp_has_sleepers(queue) || queue->outer.in_use) {
		if (xp_has_sleepers(queue))
			leave_to_sleepers(queue);
		/* After leave_to_sleepers, which may have made changes, too. */
		if (queue->ops->flush && xp_backend_is_concurrent(queue))
			flush_changes(queue);
		if (queue->outer.in_use)
			xp_outer_update(queue);
		(void)xp_kick_take_request(queue);
	}
	xp_unlock(queue);
	return xp_public_result(rc);
}

/*
 * Called if the kernel refused, with the error rc, a change of the main entry that was made without
 * the lock (a late change).  If the entry was changed again meanwhile, does nothing.  If the
 * descriptor was closed or refers to another file, ends the registrations.  Otherwise disables the
 * filters of the main entry (those without a solo entry), because the kernel does not report them.
 */
static void late_change_failed(struct xpoll *queue, const struct xp_late *late, int rc)
{
	struct xp_slot *slot = late->slot;

	xp_lock(queue);
	queue->stats.change_errors++;
	if (slot->arming == xp_token_arming(late->token)) {
		if (xp_is_gone_error(rc)) {
			xp_entry_drop(queue, late->fd, slot);
		} else {
			slot->armed &= slot->solo;
			xp_slot_disable(slot, ~(unsigned)slot->solo);
		}
	}
	xp_leave(queue);
}

/*
 * Make a late change, a change of a kernel entry after the call has released the lock.  Returns 0
 * or a negative errno value.
 */
static int late_change_make(struct xpoll *queue, const struct xp_late *late)
{
	int rc;

	XP_ASSERT(atomic_load(&late->slot->late_in_flight) > 0);
	rc = queue->ops->change_unlocked(queue->backend, late->fd, late->watch, late->token);
	if (XP_LIKELY(rc == 0)) {
		/*
		 * The decrement is the last access to the queue, which another thread may destroy
		 * afterwards.
		 */
		atomic_fetch_sub_explicit(&late->slot->late_in_flight, 1, memory_order_release);
		return 0;
	}
	/*
	 * late_change_failed takes the lock, which may be held by a thread that waits for
	 * `late_in_flight` to become 0: decrement `late_in_flight` first.  This thread pins the
	 * queue, for which xpoll_destroy waits, so the queue stays alive.
	 */
	xp_queue_pin(queue);
	atomic_fetch_sub_explicit(&late->slot->late_in_flight, 1, memory_order_release);
	/*
	 * EPERM: fd was reused for a file that the kernel cannot poll, so handle the error like
	 * ENOENT
	 */
	rc = rc == -EPERM ? -ENOENT : rc;
	late_change_failed(queue, late, rc);
	xp_queue_unpin(queue);
	return rc;
}

int xp_leave_and_make(struct xpoll *queue, int rc, const struct xp_late *late)
{
	int last;

	xp_leave(queue);
	last = late_change_make(queue, late);
	return xp_public_result(rc < 0 ? rc : last);
}

/*
 * A signal that is handled between two sleeps of a wait interrupts neither, so the wait would not
 * return EINTR.  So signals are blocked except during the sleeps (xp_hold_signals) if this wait may
 * sleep twice: it has slept before; a recent wait slept twice (hold_waits); this sleep ends when a
 * source is due, before the wait does; or other threads may interrupt this sleep to change
 * something, on a back end that is not concurrent.  With XPOLL_RESTART no signal ends a wait, so
 * only a mask of the caller is a reason: signals that it blocks must not be handled between the
 * sleeps either.
 *
 * Blocking signals takes system calls.  So before the first sleep poll once without sleeping: if
 * that finds an event, no signals need to be blocked.  After a poll that has found none, the next
 * XP_RECENT_FOR such waits do not try (skip_poll_waits).
 */
uint32_t xp_sleep_prepare(struct xpoll *queue, struct xp_wait *wait, int64_t *until_ns)
{
	uint32_t timer = xp_timer_waiter_begin(queue, until_ns);
	bool again = wait->slept_before;
	bool masked = xp_wait_mask(wait) != NULL;
	bool hold = masked || (xp_may_hold_signals(queue) &&
		(again || queue->hold_waits > 0 || *until_ns < wait->deadline_ns ||
		 !xp_backend_is_concurrent(queue)));

	if (hold && !again && !masked) {
		if (!wait->polled && queue->skip_poll_waits == 0) {
			wait->polled = true;
			*until_ns = XP_NOW_UNLOCKED;
			return timer;
		}
		queue->skip_poll_waits = wait->polled ? XP_RECENT_FOR
		                                      : XP_SET(queue->skip_poll_waits - 1);
	}
	wait->slept_before = true;
	if (queue->hold_waits > 0 && !again)
		queue->hold_waits--;
	if (again && hold && !wait->holds_signals)
		queue->hold_waits = XP_RECENT_FOR;
	if (hold)
		xp_hold_signals(queue, wait);
	/* Poll with the signal mask (XP_NOW_UNLOCKED), not without it (XP_NOW). */
	if (*until_ns == XP_NOW)
		*until_ns = XP_NOW_UNLOCKED;
	return timer;
}

/* The state of a sleep, for its cleanup handler. */
struct sleeper {
	struct xpoll *queue;
	struct xp_wait *wait;
	uint32_t kick_sequence;
	uint32_t timer;
	/*
	 * the end of the sleep; a member, because a local variable may be lost in the longjmp of a
	 * cancellation
	 */
	int64_t until_ns;
};

/* Called when the thread has returned from the sleep and has the lock again. */
static void sleeper_awake(const struct sleeper *sleeper)
{
	xp_sleep_end(sleeper->queue, sleeper->timer);
	xp_sleeper_leave(sleeper->queue, sleeper->wait, sleeper->kick_sequence);
}

/*
 * Cleanup handler of a sleep in which the thread was cancelled.  The thread may have consumed a
 * report, so the next wait checks all enabled filters of slots that are not level-triggered, and
 * arms the descriptors of sources again.
 */
static void sleep_cancelled(void *argument)
{
	struct sleeper *sleeper = argument;
	struct xpoll *queue = sleeper->queue;

	xp_lock(queue);
	sleeper_awake(sleeper);
	xp_candidates_add_edges(queue);
	xp_set_unattached(queue, true);
	xp_wait_dismiss(queue, sleeper->wait, true);
	xp_leave(queue);
	if (sleeper->wait->holds_signals)
		xp_sys_signals_release(&sleeper->wait->saved_mask);
}

int xp_sleep_shared(struct xpoll *queue, struct xp_wait *wait, int64_t until_ns,
                    struct xp_fired *fired, int cap)
{
	struct sleeper sleeper = {
		.queue = queue,
		.wait = wait,
		.until_ns = until_ns,
	};
	int rc;

	sleeper.timer = xp_sleep_begin(queue, wait, &sleeper.until_ns);
	sleeper.kick_sequence = xp_sleeper_enter(queue);
	xp_unlock_to_sleep(queue);
	pthread_cleanup_push(sleep_cancelled, &sleeper);
	rc = queue->ops->wait(queue->backend, sleeper.until_ns, xp_wait_mask(wait), fired, cap);
	pthread_cleanup_pop(0);
	if (XP_UNLIKELY(xp_lock_again(queue) < 0))
		return -EINTR;
	xp_wait_note_timeout(wait, rc, sleeper.until_ns);
	sleeper_awake(&sleeper);
	return rc;
}
