/*
 * The wait loop: what is at hand, then the kernel.
 *
 * It is compiled twice, for a thread that is the only one of its process and
 * for one among others, and with what it calls before and after the system
 * call inline: os/sys_hot.h says why.
 */
#include <errno.h>

#include "base/assert.h"
#include "base/result.h"
#include "base/time.h"
#include "core/ask.h"
#include "core/batch.h"
#include "core/candidate.h"
#include "core/deliver.h"
#include "core/enter.h"
#include "core/event.h"
#include "core/event_count.h"
#include "core/interest.h"
#include "core/recheck.h"
#include "core/renew.h"
#include "core/sleep.h"
#include "core/sources.h"
#include "core/timer_waiter.h"
#include "core/unpollable.h"
#include "os/sys.h"
#include "os/sys_hot.h"

/* A sleep found nothing until its deadline. */
static XP_NOINLINE void slept_in_vain(struct xpoll *queue, struct xp_wait *wait, bool alone)
{
	if (alone)
		wait->timed_out = !wait->cut;
	if (wait->tried) {
		queue->untried = XP_UNTRIED_MOST;
		wait->timed_out = wait->deadline_ns == XP_NOW;
	}
}

/* The kernel is asked: how many entries for? */
static XP_INLINE int ask_begins(struct xpoll *queue, const struct xp_wait *wait, int at_hand,
                                bool poll_level)
{
	int cap = poll_level ? XP_BATCH_CAP : wait->cap;

	XP_ASSERT(cap == wait->cap);
	queue->ask.due = false;
	queue->ask.skipped = 0;
	return xp_ask_room(queue, cap - at_hand, at_hand);
}

/*
 * Ask the kernel; probe_only: do not sleep.  alone, poll_level: known when
 * compiled, as in the functions below.
 */
static XP_INLINE int ask_kernel(struct xpoll *queue, struct xp_wait *wait,
                                bool probe_only, bool alone, bool poll_level)
{
	struct xp_fired fired[XP_FIRED_MOST];
	int at_hand = 0;
	int cap, rc;

	if (probe_only) {
		at_hand = wait->len;
		cap = ask_begins(queue, wait, at_hand, poll_level);
		rc = xp_ask_now(queue, wait, XP_NOW, fired, cap);
	} else {
		cap = ask_begins(queue, wait, 0, poll_level);
		xp_ask_begins(queue, wait);
		rc = alone ? xp_sleep_alone(queue, wait, fired, cap)
			: xp_sleep_in_kernel(queue, wait, fired, cap);
	}
	XP_ASSERT(rc <= cap);
	wait->exhausted = rc < cap;
	wait->news = rc == cap;
	if (XP_UNLIKELY(rc <= 0)) {
		if (rc == 0 && !probe_only)
			slept_in_vain(queue, wait, alone);
		return rc;
	}
	xp_deliver_fired(queue, wait, poll_level, fired, rc);
	if (XP_UNLIKELY(!wait->exhausted))
		xp_ask_rest(queue, wait, fired, rc, at_hand);
	if (XP_UNLIKELY(wait->renew)) {
		wait->renew = false;
		xp_renew(queue);
	}
	/* Edges of what the check of candidates has found are no news. */
	if (XP_UNLIKELY(at_hand > 0) && wait->news)
		queue->ask.due = true;
	return rc;
}

static XP_INLINE void check_candidates(struct xpoll *queue, struct xp_wait *wait,
                                       bool poll_level)
{
	if (!xp_candidate_check_single(queue, wait, poll_level))
		xp_candidates_check(queue, wait);
}

/* What is at hand, each kind first in its turn. */
static XP_NOINLINE void gather_in_turn(struct xpoll *queue, struct xp_wait *wait)
{
	wait->listed = true;
	for (unsigned i = 0; i < 3; i++) {
		switch ((wait->wait_epoch + i) % 3) {
		case 0:
			if (!xp_list_empty(&queue->registrations.active))
				xp_deliver_active(queue, wait);
			break;
		case 1:
			if (queue->candidates.len > 0)
				xp_candidates_check(queue, wait);
			break;
		default:
			if (queue->unpollable.len > 0)
				xp_files_check(queue, wait);
			break;
		}
	}
}

/* What the kernel has just reported may have made sources ready. */
static XP_NOINLINE void gather_reported(struct xpoll *queue, struct xp_wait *wait, int rc)
{
	if (rc == -EINTR && wait->events)
		xp_sources_settle(queue, XP_BEFORE_EINTR);
	if (queue->watches == 0 && xp_list_empty(&queue->registrations.active))
		return;
	if (!xp_list_empty(&queue->registrations.active))
		xp_deliver_active(queue, wait);
	if (!xp_list_empty(&queue->unpollable.awake))
		xp_files_check(queue, wait);
}

static bool wake_taken(struct xpoll *queue)
{
	if (!atomic_exchange(&queue->wake.pending, 0))
		return false;
	xp_count(&queue->counters.wakes);
	return true;
}

/* Is a source's moment here, though this thread may have slept beyond it? */
static bool due_passed(const struct xpoll *queue)
{
	return XP_UNLIKELY(queue->due_ns != XP_NEVER) &&
		xp_sys_now() >= queue->due_ns;
}

/* Is there a reason to return with nothing? */
static bool wait_over(struct xpoll *queue, const struct xp_wait *wait, bool alone)
{
	if (!alone && wait->wake_all != queue->wake.all)
		return true;
	if (atomic_load(&queue->wake.pending) && wake_taken(queue))
		return true;
	return xp_wait_deadline_over(wait);
}

/* Has a source an event that this thread, of the poll-like level, does not take? */
static bool for_others(const struct xpoll *queue, const struct xp_wait *wait)
{
	return !wait->events && !xp_list_empty(&queue->registrations.active);
}

/* Other threads first; -EAGAIN: let a follower lead; -EBADF. */
static int give_way(struct xpoll *queue, struct xp_wait *wait)
{
	/* Let those in who made this thread come out. */
	while (queue->threads.changers > 0)
		xp_sleep_until_thread_left(queue, wait);
	if (queue->threads.dying)
		return -EBADF;
	if (!for_others(queue, wait))
		return 0;
	if (queue->threads.waiters > 0)
		xp_let_others_check(queue, wait);
	else if (queue->turn.followers > 0)
		return -EAGAIN;
	return 0;
}

/*
 * Before candidates are checked, where there are other threads or anything unusual.
 * 1: they are, with what else there is; negative: as wait_loop.
 */
static XP_NOINLINE int gather(struct xpoll *queue, struct xp_wait *wait, bool alone)
{
	int rc;

	queue->sourced = xp_is_sourced(queue);
	if (queue->due_ns != XP_NEVER)
		xp_sources_run_due(queue, wait->cap - wait->len);
	rc = alone ? 0 : give_way(queue, wait);
	if (queue->unattached && rc == 0)
		rc = xp_renew_attach_rest(queue);
	if (rc < 0 || (xp_list_empty(&queue->registrations.active) && queue->unpollable.len == 0))
		return rc;
	gather_in_turn(queue, wait);
	return 1;
}

/*
 * 0, -EINTR, -EBADF; -ENOMEM, -ENOSPC: what was taken out of the kernel's set
 * cannot be put back; -EAGAIN: let a follower lead first.
 */
static XP_INLINE int wait_loop(struct xpoll *queue, struct xp_wait *wait,
                               bool alone, bool poll_level)
{
	for (;;) {
		bool at_hand, probe_only;
		int rc = 0;

		XP_ASSERT(wait->len == 0);
		if (XP_UNLIKELY(!alone || queue->unusual))
			rc = gather(queue, wait, alone);
		if (XP_UNLIKELY(rc < 0))
			return rc;
		at_hand = rc > 0 || queue->candidates.len > 0;
		if (at_hand && XP_LIKELY(rc == 0))
			check_candidates(queue, wait, poll_level);
		at_hand = at_hand && wait->len > 0;
		if (at_hand && !xp_ask_wanted(queue, wait))
			return 0;
		/* Ready events go before a wake, so look for them first. */
		probe_only = at_hand ||
			atomic_load(&queue->wake.pending) ||
			(!alone && wait->wake_all != queue->wake.all) ||
			(wait->deadline_ns == XP_NOW && !wait->mask) ||
			(!alone && xp_has_pending(queue));
		if (!alone && !probe_only && XP_UNLIKELY(queue->kick.waiters > 0)) {
			xp_sleep_until_thread_left(queue, wait);
			continue;
		}
		rc = ask_kernel(queue, wait, probe_only, alone, poll_level);
		if (XP_UNLIKELY(rc < 0 || queue->unusual))
			gather_reported(queue, wait, rc);
		if (wait->len > 0)
			return 0;
		if (rc < 0)
			return rc;
		/*
		 * What fired may have to be looked at; there may be more of it, and
		 * changes that did not fit may be what there is to report.  And
		 * who watches from outside by edges hears of nothing new while the
		 * kernel has something left to report.
		 */
		if (queue->candidates.len > 0 || !wait->exhausted || xp_has_pending(queue) ||
		    (queue->exposed && queue->ask.due) ||
		    (wait->events && (!xp_list_empty(&queue->registrations.active) ||
		                      !xp_list_empty(&queue->unpollable.awake))) ||
		    due_passed(queue)) {
			if (xp_wait_in_vain(queue, wait))
				return 0;
		} else if (wait_over(queue, wait, alone)) {
			return 0;
		}
	}
}

static XP_INLINE int wait_with_turn(struct xpoll *queue, struct xp_wait *wait,
                                    bool alone, bool poll_level)
{
	if (XP_UNLIKELY(queue->batch.next < queue->batch.len))
		xp_poll_return_batch(queue);
	return wait_loop(queue, wait, alone, poll_level);
}

/*
 * A leader of the poll-like level sleeps although there is something for the
 * other level.  That needs no turn, only that nobody sleeps on the array.
 */
static void take_without_turn(struct xpoll *queue, struct xp_wait *wait)
{
	xp_quiesce(queue);
	if (queue->due_ns != XP_NEVER)
		xp_sources_run_due(queue, wait->cap);
	xp_deliver_active(queue, wait);
}

static int wait_in_turn(struct xpoll *queue, struct xp_wait *wait)
{
	for (;;) {
		int rc;

		if (queue->turn.leader && wait->events &&
		    (!xp_list_empty(&queue->registrations.active) || due_passed(queue)))
			take_without_turn(queue, wait);
		if (wait->len > 0)
			return 0;
		rc = xp_turn_take(queue, wait);
		if (rc > 0) {
			rc = wait_with_turn(queue, wait, false, !wait->events);
			xp_turn_pass(queue);
			if (rc == -EAGAIN)
				xp_turn_yield(queue, wait);
		}
		if (rc != -EAGAIN)
			return rc;
	}
}

static XP_NOINLINE int wait_among_others(struct xpoll *queue,
                                         struct xp_wait *wait)
{
	int rc;

	wait->wake_all = queue->wake.all;
	if (!xp_concurrent(queue))
		return wait_in_turn(queue, wait);
	rc = wait_with_turn(queue, wait, false, !wait->events);
	xp_kick_next(queue, wait);
	xp_pass_on(queue);
	return rc;
}

/*
 * Fill the wait's array or batch; sleep until there is something, until the
 * deadline, or until woken.  wait->len says how much; -EINTR, -EBADF.  The
 * lock is released while it sleeps, which is a cancellation point.
 */
static XP_INLINE int wait_run(struct xpoll *queue, struct xp_wait *wait, bool alone,
                              bool poll_level)
{
	xp_mutex_assert_held(&queue->lock);
	XP_ASSERT(wait->cap > 0 && wait->len == 0);
	wait->wait_epoch = (uint32_t)++queue->counters.waits;
	return XP_LIKELY(alone) ? wait_with_turn(queue, wait, true, poll_level)
		: wait_among_others(queue, wait);
}

/* Leave; a signal that was held back is handled now, without the lock. */
static XP_INLINE void wait_release(struct xpoll *queue, const struct xp_wait *wait, bool alone)
{
	(void)(alone ? xp_leave_alone(queue, 0) : xp_leave_with(queue, 0));
	if (XP_UNLIKELY(wait->holds))
		xp_sys_signals_release(wait->held);
}

/* After it, with the result of the call. */
static XP_INLINE int wait_leave(struct xpoll *queue, const struct xp_wait *wait, int rc,
                                bool alone)
{
	int len = wait->len;

	XP_ASSERT(rc == 0 || len == 0);
	if (XP_LIKELY(len > 0)) {
		wait_release(queue, wait, alone);
		return len;
	}
	if (rc == 0) {
		xp_attention_over(queue);
		xp_count(&queue->counters.empty_returns);
	}
	wait_release(queue, wait, alone);
	return xp_result(rc);
}

/* -EBUSY: another thread is in xpoll_wait. */
static XP_NOINLINE int poll_wait_unusual(struct xpoll *queue, bool alone)
{
	if (queue->polling)
		return xp_leave_with(queue, -EBUSY);
	if (queue->withheld)
		xp_candidates_withheld(queue);
	queue->polling = !alone;
	return 0;
}

static XP_INLINE int poll_wait(struct xpoll *queue, int timeout_ms, bool alone)
{
	sigset_t held;
	struct xp_wait wait = {
		.cap = XP_BATCH_CAP,
		.deadline_ns = XP_NEVER,
		.held = &held,
	};
	int rc = 0;

	if (timeout_ms >= 0)
		wait.deadline_ns = timeout_ms == 0 ? XP_NOW
			: xp_deadline(xp_sys_now(), timeout_ms * XP_NS_PER_MS);
	if (XP_UNLIKELY(!alone || queue->unusual))
		rc = poll_wait_unusual(queue, alone);
	if (XP_UNLIKELY(rc < 0))
		return xp_result(rc);
	rc = wait_run(queue, &wait, alone, true);
	queue->batch.len = wait.len;
	queue->batch.next = 0;
	if (!alone)
		queue->polling = false;
	return wait_leave(queue, &wait, rc, alone);
}

static XP_NOINLINE int poll_wait_among_others(struct xpoll *queue, int timeout_ms)
{
	int rc = queue ? xp_enter(queue) : -EINVAL;

	return rc < 0 ? xp_result(rc) : poll_wait(queue, timeout_ms, false);
}

/* Here and not with its siblings: see os/sys_hot.h for why it is inline. */
int xpoll_wait(struct xpoll *queue, int timeout_ms)
{
	return XP_LIKELY(queue && xp_enter_alone(queue)) ? poll_wait(queue, timeout_ms, true)
		: poll_wait_among_others(queue, timeout_ms);
}

/*
 * Enter, and make the changes.  A program that handles one event after the other
 * mostly makes one, and that is a mark: nothing to be called for.
 */
static XP_INLINE int event_enter(struct xpoll *queue,
                                 const struct xpoll_event *changes,
                                 int nchanges, struct xpoll_event *events,
                                 int nevents)
{
	int rc = queue ? xp_enter(queue) : -EINVAL;

	if (rc < 0)
		return rc;
	if (XP_LIKELY(events && nevents > 0)) {
		if (nchanges == 0)
			return 0;
		if (XP_LIKELY(nchanges == 1 && changes && queue->threads.waiters == 0 &&
		              xp_event_free_change(queue, changes)))
			return 0;
	}
	return xp_event_make(queue, changes, nchanges, events, nevents);
}

/*
 * Here for the same reason.  A function apart: changes alone need no room on the
 * stack for what a wait needs.
 */
static XP_NOINLINE int event_and_wait(struct xpoll *queue,
                                      const struct xpoll_event *changes,
                                      int nchanges, struct xpoll_event *events,
                                      int nevents, int64_t timeout_ns,
                                      const void *sigset)
{
	sigset_t held;
	struct xp_wait wait = {
		.events = events,
		.cap = nevents,
		.mask = sigset,
		.held = &held,
	};
	int rc = event_enter(queue, changes, nchanges, events, nevents);

	if (XP_UNLIKELY(rc != 0))
		return xp_result(rc);
	wait.deadline_ns = timeout_ns < 0 ? XP_NEVER : timeout_ns == 0 ? XP_NOW
		: xp_deadline(xp_sys_now(), timeout_ns);
	rc = wait_run(queue, &wait, !queue->lock.held, false);
	xp_count_by(&queue->counters.events, (uint64_t)wait.len);
	xp_event_count_finish(queue, &wait);
	return wait_leave(queue, &wait, rc, false);
}

int xpoll_event(struct xpoll *queue, const struct xpoll_event *changes,
                int nchanges, struct xpoll_event *events, int nevents,
                int64_t timeout_ns)
{
	if (nevents == 0)
		return xp_event_changes(queue, changes, nchanges);
	return event_and_wait(queue, changes, nchanges, events, nevents,
	                      timeout_ns, NULL);
}

int xpoll_event_mask(struct xpoll *queue, const struct xpoll_event *changes,
                     int nchanges, struct xpoll_event *events, int nevents,
                     int64_t timeout_ns, const void *sigset)
{
	if (nevents == 0)
		return xp_event_changes(queue, changes, nchanges);
	return event_and_wait(queue, changes, nchanges, events, nevents,
	                      timeout_ns, sigset);
}
