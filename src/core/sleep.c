/* Leaving a queue, and sleeping in it. */
#include "core/sleep.h"

#include <errno.h>

#include "base/assert.h"
#include "base/time.h"
#include "core/candidates.h"
#include "core/check.h"
#include "core/due.h"
#include "core/entry.h"
#include "core/marks.h"
#include "core/outer.h"
#include "core/sources.h"
#include "core/threads.h"
#include "sys/sys.h"

/* Pass on the back end's changes: a wait would, but the threads that sleep do not. */
static void flush_changes(struct xpoll *queue)
{
	struct xp_fired fired[XP_FIRED_MOST];

	while (queue->ops->has_pending(queue->backend)) {
		int count = queue->ops->flush(queue->backend, fired, XP_FIRED_MOST);

		for (int i = 0; i < count; i++) {
			int fd = xp_token_fd(fired[i].token);
			struct xp_slot *slot = xp_slots_get(queue, fd);

			if (slot->present && xp_slot_is_of(slot, fired[i].token))
				xp_entry_drop(queue, fd, slot);
		}
		if (count < 0)
			return;
	}
}

/* Is there anything that a thread that sleeps has to look for? */
static bool left_for_sleepers(const struct xpoll *queue)
{
	return xp_has_candidates(queue) || !xp_list_empty(&queue->files.awake) ||
		(xp_sources_active(queue) && queue->in_wait.poll == 0) ||
		xp_timer_waiter_missing(queue) || xp_wake_is_pending(queue);
}

/* Others sleep: have the kernel report, or one of them look for, what is left. */
static void leave_to_sleepers(struct xpoll *queue)
{
	if (xp_has_candidates(queue)) {
		if (xp_is_concurrent(queue))
			xp_candidates_publish(queue);
		else
			xp_sleepers_mark(queue);
	}
	if (xp_sleepers_take_mark(queue) && left_for_sleepers(queue)) {
		xp_kick_one(queue);
		if (xp_timer_waiter_missing(queue))
			xp_timer_waiter_called(queue);
	}
}

int xp_leave_to_others(struct xpoll *queue, int rc)
{
	if (xp_has_sleepers(queue) || queue->outer.exposed) {
		if (queue->ops->flush && xp_is_concurrent(queue))
			flush_changes(queue);
		if (xp_has_sleepers(queue))
			leave_to_sleepers(queue);
		if (queue->outer.exposed)
			xp_outer_update(queue);
		(void)xp_sleepers_take_mark(queue);
	}
	xp_unlock(queue);
	return xp_result(rc);
}

/*
 * The kernel has refused a late change: disable the filters of the main entry again, or end
 * the registrations if the descriptor is closed or another file.
 */
static void late_failed(struct xpoll *queue, const struct xp_late *late, int rc)
{
	struct xp_slot *slot = late->slot;

	xp_lock(queue);
	queue->counters.change_errors++;
	if (slot->arming == xp_token_arming(late->token)) {
		if (xp_is_gone(rc)) {
			xp_entry_drop(queue, late->fd, slot);
		} else {
			slot->armed &= slot->solo;
			xp_slot_disable(slot, ~(unsigned)slot->solo);
		}
	}
	xp_leave(queue);
}

static int late_make(struct xpoll *queue, const struct xp_late *late)
{
	int rc;

	XP_ASSERT(atomic_load(&late->slot->late) > 0);
	rc = queue->ops->change_unlocked(queue->backend, late->fd, late->watch, late->token);
	if (XP_LIKELY(rc == 0)) {
		/* The last access: xpoll_destroy does not wait for more. */
		atomic_fetch_sub_explicit(&late->slot->late, 1, memory_order_release);
		return 0;
	}
	/* A thread that waits for a late change has the lock; xpoll_destroy waits for writers. */
	xp_writer_begin(queue);
	atomic_fetch_sub_explicit(&late->slot->late, 1, memory_order_release);
	rc = rc == -EPERM ? -ENOENT : rc; /* another file, which the kernel refuses */
	late_failed(queue, late, rc);
	xp_writer_end(queue);
	return rc;
}

int xp_leave_and_make(struct xpoll *queue, int rc, const struct xp_late *late)
{
	int last;

	xp_leave(queue);
	last = late_make(queue, late);
	return xp_result(rc < 0 ? rc : last);
}

/*
 * Signals are held back if the sleep may end before the wait does.  Before the first sleep one
 * look may find something, which costs less.
 */
uint32_t xp_sleep_prepare(struct xpoll *queue, struct xp_wait *wait, int64_t *until_ns)
{
	uint32_t timer = xp_timer_waiter_begin(queue, until_ns);
	bool again = wait->slept;
	bool masked = xp_wait_mask(wait) != NULL;
	bool holds = again || queue->holding > 0 || masked || *until_ns < wait->deadline_ns ||
		!xp_is_concurrent(queue);

	if (holds && !again && !masked) {
		if (!wait->tried && queue->untried == 0) {
			wait->tried = true;
			*until_ns = XP_PAST;
			return timer;
		}
		queue->untried = wait->tried ? XP_RECENT_FOR : XP_SET(queue->untried - 1);
	}
	wait->slept = true;
	if (queue->holding > 0 && !again)
		queue->holding--;
	if (again && !wait->holds)
		queue->holding = XP_RECENT_FOR;
	if (holds)
		xp_hold_signals(queue, wait);
	/* XP_NOW would neither sleep nor apply the mask. */
	if (*until_ns == XP_NOW)
		*until_ns = XP_PAST;
	return timer;
}

/* For cancellation. */
struct sleeper {
	struct xpoll *queue;
	struct xp_wait *wait;
	uint32_t kick_epoch;
	uint32_t timer;
	int64_t until_ns; /* here, not a local variable, which a longjmp may change */
};

/* The thread is back among the others. */
static void sleeper_awake(const struct sleeper *sleeper)
{
	xp_sleep_end(sleeper->queue, sleeper->timer);
	xp_sleeper_leave(sleeper->queue, sleeper->wait, sleeper->kick_epoch);
}

/* The thread was cancelled while it slept, and may have taken a report with it. */
static void sleep_cancelled(void *argument)
{
	struct sleeper *sleeper = argument;
	struct xpoll *queue = sleeper->queue;

	xp_lock(queue);
	sleeper_awake(sleeper);
	xp_check_all(queue);
	xp_wait_dismiss(queue, sleeper->wait, true);
	xp_leave(queue);
	if (sleeper->wait->holds)
		xp_sys_signals_release(&sleeper->wait->blocked);
}

int xp_sleep_beside(struct xpoll *queue, struct xp_wait *wait, int64_t until_ns,
                    struct xp_fired *fired, int cap)
{
	struct sleeper sleeper = {
		.queue = queue,
		.wait = wait,
		.until_ns = until_ns,
	};
	int rc;

	sleeper.timer = xp_sleep_begin(queue, wait, &sleeper.until_ns);
	sleeper.kick_epoch = xp_sleeper_enter(queue);
	xp_unlock_to_sleep(queue);
	pthread_cleanup_push(sleep_cancelled, &sleeper);
	rc = queue->ops->wait(queue->backend, sleeper.until_ns, xp_wait_mask(wait), fired, cap);
	pthread_cleanup_pop(0);
	if (XP_UNLIKELY(xp_lock_again(queue) < 0))
		return -EINTR;
	xp_wait_slept(wait, rc, sleeper.until_ns);
	sleeper_awake(&sleeper);
	return rc;
}
