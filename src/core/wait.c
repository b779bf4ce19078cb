/*
 * The wait.  It delivers events that need no call into the kernel, polls the kernel if that is due,
 * and sleeps if there is no event.  Each function is below its caller.
 */
#include "core/wait.h"

#include <string.h>

#include "core/check.h"
#include "core/files.h"
#include "core/renew.h"
#include "core/report.h"
#include "core/sleep.h"
#include "core/sources.h"
#include "sys/sys_hot.h"

/*
 * harvest_rest, which fetches the reports that are left by further calls, ends after this many
 * reports in a row that led to no event.  A wait whose deadline has passed ends after more than
 * this number times (registrations + 1) polls without an event, even if the back end claims to have
 * more (spurious_limit_reached): the row "A wait gives up" of docs/internals/mechanisms.md.
 */
enum { SPURIOUS_MOST = 32 };

static int wait_loop(struct xpoll *queue, struct xp_wait *wait);
static int wait_prepare(struct xpoll *queue, struct xp_wait *wait);
static void deliver_found(struct xpoll *queue, struct xp_wait *wait);
static void deliver_round_robin(struct xpoll *queue, struct xp_wait *wait);
static bool must_poll_kernel(struct xpoll *queue, const struct xp_wait *wait);
static int64_t sleep_deadline(const struct xpoll *queue, const struct xp_wait *wait);
static bool has_unflushed_changes(const struct xpoll *queue);
static int harvest(struct xpoll *queue, struct xp_wait *wait, int64_t until_ns);
static int poll_kernel(struct xpoll *queue, struct xp_wait *wait, int64_t how,
                       struct xp_fired *fired, int cap);
static int sleep_alone(struct xpoll *queue, struct xp_wait *wait, int64_t until_ns,
                       struct xp_fired *fired, int cap);
static void harvest_rest(struct xpoll *queue, struct xp_wait *wait, struct xp_fired *fired,
                         int most, int rc);
static void deliver_reports(struct xpoll *queue, struct xp_wait *wait,
                            const struct xp_fired *fired, int rc, int cap);
static int deliver_after_harvest(struct xpoll *queue, struct xp_wait *wait, int rc);
static bool may_have_more(const struct xpoll *queue, const struct xp_wait *wait);
static bool spurious_limit_reached(const struct xpoll *queue, struct xp_wait *wait);
static bool wait_is_over(struct xpoll *queue, const struct xp_wait *wait);
static void batch_put_back(struct xpoll *queue);

int xp_wait_call(struct xpoll *queue, enum xp_format format, void *array, int cap,
                 int64_t timeout_ns, const sigset_t *mask)
{
	int rc = format & XP_LOCK_HELD ? 0 : xp_enter(queue);
	struct xp_wait wait;
	bool alone, has_turn;

	if (XP_UNLIKELY(rc < 0))
		return xp_public_result(rc);
	/*
	 * If the process has no other thread, leave these out: counting the wait, taking the turn
	 * (the right to enter a back end for one thread at a time) and waking threads.
	 */
	alone = xp_entered_alone(queue);
	format &= ~(unsigned)XP_LOCK_HELD;
	if (!alone && (rc = xp_wait_admit(queue, format)) < 0)
		return xp_leave_with(queue, rc);
	xp_records_begin(&wait, format == XP_BATCH ? queue->batch.found : array, cap);
	wait.deadline_ns = timeout_ns < 0 ? XP_NEVER : timeout_ns == 0 ? XP_NOW
		: xp_deadline(xp_sys_now(), timeout_ns);
	wait.caller_mask = mask;
	wait.format = format;
	wait.epoch = (uint32_t)++queue->stats.waits;
	wait.wake_all_snapshot = queue->wake.all;
	memset(&wait.spurious, 0, sizeof wait - offsetof(struct xp_wait, spurious));
	if (XP_UNLIKELY(!xp_batch_is_over(queue)))
		batch_put_back(queue);
	xp_batch_end(queue);
	/* Wait for the turn, if the back end serves one thread at a time. */
	rc = alone || xp_backend_is_concurrent(queue) ? 1 : xp_turn_take(queue, &wait);
	has_turn = rc > 0;
	if (XP_LIKELY(has_turn))
		do
			rc = wait_loop(queue, &wait);
		while (format == XP_READY && wait.len > 0 && !xp_ready_finish(queue, &wait));
	if (!alone)
		xp_wait_dismiss(queue, &wait, has_turn);
	if (format == XP_BATCH)
		queue->batch.len = wait.len;
	else
		queue->stats.events += (uint64_t)wait.len;
	if (XP_UNLIKELY(wait.len == 0) && rc == 0) {
		queue->stats.empty_returns++;
		xp_outer_set_grace(queue, 0);
	}
	xp_leave(queue);
	if (XP_UNLIKELY(wait.holds_signals))
		xp_sys_signals_release(&wait.saved_mask);
	return XP_UNLIKELY(rc < 0) ? xp_public_result(rc) : wait.len;
}

/*
 * Deliver ready events, poll the kernel or sleep, until there is a record or the wait has to end.
 * Returns 0, with wait->len records, or a negative errno value and no record.
 */
static XP_INLINE int wait_loop(struct xpoll *queue, struct xp_wait *wait)
{
	for (;;) {
		int64_t until_ns = XP_NOW;
		int rc = wait_prepare(queue, wait);

		if (XP_UNLIKELY(rc < 0))
			return rc;
		deliver_found(queue, wait);
		if (wait->len == 0)
			until_ns = sleep_deadline(queue, wait);
		else if (!must_poll_kernel(queue, wait))
			return 0;
		if (XP_UNLIKELY(until_ns != XP_NOW && queue->kick.unreturned > 0)) {
			/*
			 * An xp_kick_all, which makes all sleeping threads return, is under way: if
			 * this thread slept now, it could take the wake-up of a thread that still
			 * sleeps.  Wait until all threads that xp_kick_all wakes have returned.
			 */
			xp_await_thread_return(queue, wait);
			continue;
		}
		rc = harvest(queue, wait, until_ns);
		if (XP_LIKELY(wait->len > 0))
			return 0;
		if (XP_UNLIKELY(rc == -EINTR ? xp_must_return_eintr(queue) : rc < 0))
			return rc;
		if ((!may_have_more(queue, wait) && wait_is_over(queue, wait)) ||
		    spurious_limit_reached(queue, wait))
			return 0;
	}
}

/*
 * Called before each poll: lets threads that change the queue go first, attaches missing slots, and
 * runs the sources that are due.  Returns 0; -EBADF if the queue is being destroyed; or the error
 * of attaching the slots.
 */
static int wait_prepare(struct xpoll *queue, struct xp_wait *wait)
{
	while (XP_UNLIKELY(!xp_entered_alone(queue) && queue->threads.waiting_changers > 0))
		xp_await_thread_return(queue, wait);
	if (XP_UNLIKELY(!xp_entered_alone(queue) && queue->threads.dying))
		return -EBADF;
	if (XP_UNLIKELY(queue->due_ns != XP_NEVER))
		xp_sources_run_due(queue, wait->cap - wait->len);
	if (XP_LIKELY(!queue->hangup_ignored && !queue->unattached && !queue->probed))
		return 0;
	if (queue->hangup_ignored && wait->format != XP_EVENTS)
		xp_candidates_add_hangups(queue);
	/* Query the sources with conditions that the kernel does not report. */
	if (queue->probed)
		xp_sources_refresh(queue, wait, XP_BEFORE_SLEEP);
	return queue->unattached ? xp_attach_slots(queue, XP_ATTACH_MISSING) : 0;
}

/* Deliver the events that are known, or found by poll(2), without a call of the back end. */
static void deliver_found(struct xpoll *queue, struct xp_wait *wait)
{
	if (XP_UNLIKELY(xp_sources_active(queue) || xp_has_files(queue)))
		deliver_round_robin(queue, wait);
	else if (xp_has_candidates(queue))
		xp_candidates_check(queue, wait);
}

/*
 * Deliver from candidates (descriptors to check by poll(2)), sources and files; each of the three
 * goes first in every third wait.
 */
static XP_NOINLINE void deliver_round_robin(struct xpoll *queue, struct xp_wait *wait)
{
	wait->must_poll_if_room = true;
	for (unsigned i = 0; i < 3; i++) {
		switch ((wait->epoch + i) % 3) {
		case 0:
			if (wait->format == XP_EVENTS)
				xp_sources_deliver(queue, wait);
			break;
		case 1:
			xp_candidates_check(queue, wait);
			break;
		default:
			xp_files_check(queue, wait);
		}
	}
}

/*
 * Called in a wait that has events already.  Returns true if this wait polls the kernel as well,
 * which mostly only every 16th such wait does (XP_ASK_EVERY): xp_ask_is_due counts these waits.
 */
static bool must_poll_kernel(struct xpoll *queue, const struct xp_wait *wait)
{
	return xp_ask_is_due(queue) ||
		(XP_UNLIKELY(wait->must_poll_if_room || queue->ask.half_room_calls) &&
		 !xp_wait_is_full(wait));
}

/*
 * Returns until when the thread may sleep; XP_NOW: poll without sleeping; XP_NOW_UNLOCKED: poll
 * without sleeping, but with the caller's signal mask.  A pending wake-up ends the wait only after
 * a poll, because ready events go before the wake-up.
 */
static int64_t sleep_deadline(const struct xpoll *queue, const struct xp_wait *wait)
{
	if (XP_UNLIKELY(xp_wake_is_pending(queue) || wait->wake_all_snapshot != queue->wake.all ||
	                has_unflushed_changes(queue)))
		return XP_NOW;
	if (XP_UNLIKELY(wait->deadline_ns == XP_NOW && xp_wait_mask(wait)))
		return XP_NOW_UNLOCKED;
	return wait->deadline_ns;
}

/*
 * Returns true if the back end has collected changes that this thread must pass to the kernel
 * before it sleeps in parallel with other threads.
 */
static bool has_unflushed_changes(const struct xpoll *queue)
{
	return XP_UNLIKELY(queue->ops->has_pending != NULL) && xp_backend_is_concurrent(queue) &&
		queue->ops->has_pending(queue->backend);
}

/*
 * Poll the kernel or sleep in it, and poll again while it may have more reports and there is room.
 * The kernel reports ready descriptors in turn: once it reports one that this wait has delivered,
 * it has reported all of them.  Returns the number of reports of the first call, or its error;
 * -EINTR also if a source found that a signal handler may have run.
 */
static XP_INLINE int harvest(struct xpoll *queue, struct xp_wait *wait, int64_t until_ns)
{
	struct xp_fired on_stack[XP_FIRED_MOST];
	/* A process with one thread uses the queue's larger array of reports, if there is one. */
	bool alone = xp_entered_alone(queue), has_events = wait->len > 0;
	struct xp_fired *fired = alone && queue->fired ? queue->fired : on_stack;
	int most = fired != on_stack ? queue->ops->fired_most : XP_FIRED_MOST;
	int room = xp_ask_room(queue, wait->cap - wait->len, has_events);
	int cap = room < most ? room : most;
	int rc = until_ns == XP_NOW ? poll_kernel(queue, wait, XP_NOW, fired, cap)
		: alone && !wait->holds_signals ? sleep_alone(queue, wait, until_ns, fired, cap)
		: xp_sleep_shared(queue, wait, until_ns, fired, cap);

	deliver_reports(queue, wait, fired, rc, cap);
	if (XP_UNLIKELY(wait->more) && !xp_wait_is_full(wait))
		harvest_rest(queue, wait, fired, most, rc);
	if (XP_UNLIKELY(rc < 0 || wait->interrupted || xp_sources_active(queue) ||
	                xp_has_files(queue)))
		return deliver_after_harvest(queue, wait, rc);
	return rc;
}

/*
 * Poll the kernel without sleeping.  how: XP_NOW, or XP_NOW_CONTINUED to fetch reports for which
 * the last call had no room.
 */
static int poll_kernel(struct xpoll *queue, struct xp_wait *wait, int64_t how,
                       struct xp_fired *fired, int cap)
{
	int rc;

	xp_kernel_call_begin(queue, wait);
	rc = queue->ops->wait(queue->backend, how, NULL, fired, cap);
	xp_timer_wakeup_clear(queue);
	if (XP_UNLIKELY(queue->kick.unreturned > 0))
		xp_kicks_taken(queue, wait, fired, rc);
	return rc;
}

/*
 * Sleep as the only thread of the process.  No other thread can cancel this one during the sleep,
 * so a test before the sleep suffices: xp_testcancel_alone acts upon an earlier cancellation.  At
 * that point the wait must not have blocked signals (wait->holds_signals), because only
 * xp_sleep_shared unblocks them at a cancellation.
 *
 * xp_sleep_begin may block all signals, and does so if the caller gave a mask: then the sleep needs
 * a mask that unblocks them, which ops->wait applies.  Any other sleep without a timeout may call
 * epoll_wait(2) directly, past the back end (direct_fd_at in sys/backend.h).
 */
static int sleep_alone(struct xpoll *queue, struct xp_wait *wait, int64_t until_ns,
                       struct xp_fired *fired, int cap)
{
	size_t at = XP_SYS_DIRECT ? queue->ops->direct_fd_at : 0;
	const void *direct = (const char *)queue->backend + at;
	int direct_fd = XP_LIKELY(at) ? *(const int *)direct : -1;
	uint32_t timer;
	int rc;

	xp_unlock_to_sleep(queue);
	xp_testcancel_alone();
	timer = xp_sleep_begin(queue, wait, &until_ns);
	rc = XP_LIKELY(direct_fd >= 0 && !wait->holds_signals && until_ns == XP_NEVER)
		? xp_sys_direct_sleep(direct_fd, fired, cap)
		: queue->ops->wait(queue->backend, until_ns, xp_wait_mask(wait), fired, cap);
	if (XP_UNLIKELY(xp_lock_again(queue) < 0))
		return -EINTR;
	if (XP_UNLIKELY(rc == 0))
		xp_wait_note_timeout(wait, rc, until_ns);
	xp_wait_generation_end(queue);
	xp_sleep_end(queue, timer);
	return rc;
}

/*
 * Poll the kernel for the remaining reports while there is room.  rc: result of the last call into
 * the kernel.
 */
static XP_NOINLINE void harvest_rest(struct xpoll *queue, struct xp_wait *wait,
                                     struct xp_fired *fired, int most, int rc)
{
	int spurious = wait->delivered_some ? 0 : rc;

	while (wait->more && !xp_wait_is_full(wait) && spurious < SPURIOUS_MOST &&
	       (wait->delivered_some || !wait->has_repeats)) {
		int room = xp_ask_room(queue, wait->cap - wait->len, false);
		int cap = room < most ? room : most;

		/*
		 * An error only ends this loop: an error that persists is returned by the next
		 * wait.
		 */
		rc = poll_kernel(queue, wait, XP_NOW_CONTINUED, fired, cap);
		deliver_reports(queue, wait, fired, rc, cap);
		spurious = wait->delivered_some ? 0 : spurious + rc;
	}
}

/* Deliver the reports of one call into the kernel; rc: their number, or an error. */
static void deliver_reports(struct xpoll *queue, struct xp_wait *wait, const struct xp_fired *fired,
                            int rc, int cap)
{
	XP_ASSERT(rc <= cap);
	xp_reports_begin(wait, rc == cap);
	for (int i = 0; i < rc; i++)
		xp_report(queue, wait, &fired[i]);
	/*
	 * An event loop may sleep until a new edge of the descriptor of xpoll_fd, once a wait has
	 * returned no event.  There is no new edge while the kernel's set has a report left.  So if
	 * these reports have led to no event, poll again until the set is empty or there is an
	 * event; after an event the loop calls the wait again.
	 */
	if (XP_UNLIKELY(queue->outer.in_use) && rc > 0 && !wait->delivered_some)
		xp_reports_expect_more(wait);
	if (XP_UNLIKELY(wait->must_renew_set))
		xp_renew_kernel_set(queue);
}

/*
 * Deliver from sources and files after a call into the kernel with result rc.  Returns rc, or
 * -EINTR if a source found that a signal handler may have run.
 */
static XP_NOINLINE int deliver_after_harvest(struct xpoll *queue, struct xp_wait *wait, int rc)
{
	if (rc < 0 && !xp_process_owns(queue))
		return rc; /* in a forked child, where the events belong to the parent */
	if (wait->interrupted)
		rc = -EINTR;
	if (rc == -EINTR && wait->format == XP_EVENTS)
		xp_sources_refresh(queue, wait, XP_BEFORE_EINTR);
	if (wait->format == XP_EVENTS)
		xp_sources_deliver(queue, wait);
	if (!xp_list_empty(&queue->files.awake))
		xp_files_check(queue, wait);
	return rc;
}

/*
 * Returns true if the wait has to poll again, even if its deadline has passed, because there may be
 * events left that this wait has not checked.
 */
static XP_NOINLINE bool may_have_more(const struct xpoll *queue, const struct xp_wait *wait)
{
	return xp_has_candidates(queue) || wait->more || queue->unattached ||
	       has_unflushed_changes(queue) ||
		(wait->format == XP_EVENTS &&
		 (xp_sources_active(queue) || !xp_list_empty(&queue->files.awake))) ||
		(queue->due_ns != XP_NEVER && queue->due_ns <= xp_sys_now());
}

/*
 * Count a poll without an event.  Returns true if the deadline has passed and there were more than
 * SPURIOUS_MOST * (registrations + 1) such polls: a back end that always claims to have more
 * reports must not keep the wait from ending.
 */
static XP_NOINLINE bool spurious_limit_reached(const struct xpoll *queue, struct xp_wait *wait)
{
	return ++wait->spurious > SPURIOUS_MOST * (queue->stats.registered + 1) &&
		xp_deadline_passed(wait);
}

/*
 * Returns true if the wait has to return without an event: for xpoll_wake, whose wake-up this
 * consumes, for xpoll_wake_all, or because the deadline has passed.
 */
static XP_NOINLINE bool wait_is_over(struct xpoll *queue, const struct xp_wait *wait)
{
	if (wait->wake_all_snapshot != queue->wake.all)
		return true;
	if (xp_wake_take(queue)) {
		queue->stats.wakes++;
		return true;
	}
	return xp_wait_has_expired(wait);
}

/*
 * Make candidates (slots that this wait checks by poll(2)) of the descriptors whose records
 * xpoll_revents has not returned, ahead of older candidates.  A descriptor that was a candidate
 * before stays among the older ones.
 */
static XP_NOINLINE void batch_put_back(struct xpoll *queue)
{
	while (!xp_batch_is_over(queue)) {
		const struct xpoll_ready *found = &queue->batch.found[--queue->batch.len];
		uint32_t events = (uint32_t)found->events;
		int fd = xp_token_fd(found->data64);
		struct xp_slot *slot = xp_slots_get(queue, fd);

		if (!xp_slot_token_is_live(slot, found->data64))
			continue;
		if (!slot->enabled) {
			xp_defer_for_disabled(queue, fd, slot, events);
		} else if (slot->mode == XP_MODE_FILE) {
			xp_file_schedule_check(queue, fd, slot->enabled);
		} else {
			xp_candidate_push(queue, fd, slot);
			xp_defer_delivery(queue, fd, slot, slot->enabled, events);
		}
	}
}
