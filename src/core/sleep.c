/* Leaving a queue, and sleeping in it. */
#include "core/sleep.h"

#include <errno.h>

#include "base/time.h"
#include "core/candidates.h"
#include "core/check.h"
#include "core/due.h"
#include "core/entry.h"
#include "core/marks.h"
#include "core/outer.h"
#include "core/sources.h"
#include "core/threads.h"
#include "os/sys.h"

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
	return queue->candidates.len > 0 || !xp_list_empty(&queue->files.awake) ||
		(xp_sources_active(queue) && queue->in_wait.poll == 0) ||
		xp_timer_waiter_missing(queue) ||
		atomic_load(&queue->wake.state) & XP_WAKE_PENDING;
}

/* Others sleep: have the kernel report, or one of them look for, what is left. */
static void leave_to_sleepers(struct xpoll *queue)
{
	if (queue->candidates.len > 0) {
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
	if (queue->threads.waiters > 0 || queue->outer.exposed) {
		if (queue->ops->flush && xp_is_concurrent(queue))
			flush_changes(queue);
		if (queue->threads.waiters > 0)
			leave_to_sleepers(queue);
		if (queue->outer.exposed)
			xp_outer_update(queue);
		(void)xp_sleepers_take_mark(queue);
	}
	xp_unlock(queue);
	return xp_result(rc);
}

/*
 * Signals are held back if the sleep may end before the wait does.  Before the first sleep one
 * look may find something, which costs less.
 */
uint32_t xp_sleep_prepare(struct xpoll *queue, struct xp_wait *wait, int64_t *until_ns)
{
	uint32_t timer = xp_timer_waiter_begin(queue, until_ns);
	bool again = wait->slept;
	bool holds = again || queue->holding > 0 || wait->mask || *until_ns < wait->deadline_ns ||
		!xp_is_concurrent(queue);

	wait->timed_out = false;
	if (holds && !again && !wait->mask) {
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
	xp_waiter_leave(sleeper->queue, sleeper->wait, sleeper->kick_epoch);
}

/* The thread was cancelled while it slept, and may have taken a report with it. */
static void sleep_cancelled(void *argument)
{
	struct sleeper *sleeper = argument;
	struct xpoll *queue = sleeper->queue;

	xp_mutex_lock(&queue->lock);
	sleeper_awake(sleeper);
	xp_kick_next(queue, sleeper->wait);
	if (!xp_is_concurrent(queue))
		xp_turn_pass(queue);
	xp_check_all(queue);
	xp_wait_dismiss(queue, sleeper->wait);
	xp_sleepers_mark(queue);
	xp_leave(queue);
	if (sleeper->wait->holds)
		xp_sys_signals_release(&sleeper->wait->held);
}

int xp_sleep_beside(struct xpoll *queue, struct xp_wait *wait, int64_t until_ns,
                    struct xp_fired *fired, int cap)
{
	struct sleeper sleeper = {
		.queue = queue,
		.wait = wait,
		.kick_epoch = queue->kick.epoch,
		.until_ns = until_ns,
	};
	int rc;

	sleeper.timer = xp_sleep_begin(queue, wait, &sleeper.until_ns);
	queue->threads.waiters++;
	(void)xp_sleepers_take_mark(queue); /* this thread has looked just now */
	xp_kick_due(queue);
	xp_inside_enter(queue);
	xp_mutex_unlock(&queue->lock);
	pthread_cleanup_push(sleep_cancelled, &sleeper);
	rc = queue->ops->wait(queue->backend, sleeper.until_ns, wait->mask, fired, cap);
	pthread_cleanup_pop(0);
	if (XP_UNLIKELY(xp_lock_again(queue) < 0))
		return -EINTR;
	if (rc == 0)
		wait->timed_out = sleeper.until_ns >= wait->deadline_ns;
	sleeper_awake(&sleeper);
	return rc;
}
