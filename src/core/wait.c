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
#include "core/gather.h"
#include "core/recheck.h"
#include "core/renew.h"
#include "core/sleep.h"
#include "core/sources.h"
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
                                bool alone, bool poll_level)
{
	int cap = poll_level ? XP_BATCH_CAP : wait->cap;

	XP_ASSERT(cap == wait->cap);
	queue->ask.due = false;
	queue->ask.skipped = 0;
	return xp_ask_room(queue, cap - at_hand, at_hand,
	                   alone && !poll_level ? queue->fired_most : XP_FIRED_MOST);
}

/*
 * Ask the kernel; probe_only: do not sleep.  alone, poll_level: known when
 * compiled, as in the functions below.
 */
static XP_INLINE int ask_kernel(struct xpoll *queue, struct xp_wait *wait,
                                struct xp_fired *fired, bool probe_only, bool alone,
                                bool poll_level)
{
	int at_hand = 0;
	int cap, rc;

	if (probe_only) {
		at_hand = wait->len;
		cap = ask_begins(queue, wait, at_hand, alone, poll_level);
		rc = xp_ask_now(queue, wait, XP_NOW, fired, cap);
	} else {
		cap = ask_begins(queue, wait, 0, alone, poll_level);
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

static bool wake_taken(struct xpoll *queue)
{
	if (!atomic_exchange(&queue->wake.pending, 0))
		return false;
	xp_count(&queue->counters.wakes);
	return true;
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

/* gathered: what is at hand was gathered already.  0, -EINTR, or as xp_gather. */
static XP_INLINE int wait_loop(struct xpoll *queue, struct xp_wait *wait,
                               struct xp_fired *fired, bool gathered, bool alone,
                               bool poll_level)
{
	for (;; gathered = false) {
		bool at_hand, probe_only;
		int rc = gathered;

		XP_ASSERT(gathered || wait->len == 0);
		if (XP_UNLIKELY((!alone || queue->unusual) && !gathered))
			rc = xp_gather(queue, wait, alone);
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
		rc = ask_kernel(queue, wait, fired, probe_only, alone, poll_level);
		if (XP_UNLIKELY(rc < 0 || queue->unusual))
			xp_gather_reported(queue, wait, rc);
		if (wait->len > 0)
			return 0;
		if (rc < 0)
			return rc;
		/*
		 * What fired may have to be checked; there may be more of it, and
		 * changes that did not fit may be what there is to report.  And
		 * who watches from outside by edges hears of nothing new while the
		 * kernel has something left to report.
		 */
		if (queue->candidates.len > 0 || !wait->exhausted || xp_has_pending(queue) ||
		    (queue->exposed && queue->ask.due) ||
		    (wait->events && (!xp_list_empty(&queue->registrations.active) ||
		                      !xp_list_empty(&queue->unpollable.awake))) ||
		    xp_due_passed(queue)) {
			if (xp_wait_in_vain(queue, wait))
				return 0;
		} else if (wait_over(queue, wait, alone)) {
			return 0;
		}
	}
}

static XP_INLINE int wait_with_turn(struct xpoll *queue, struct xp_wait *wait,
                                    struct xp_fired *fired, bool alone, bool poll_level)
{
	if (XP_UNLIKELY(queue->batch.next < queue->batch.len))
		xp_poll_return_batch(queue);
	return wait_loop(queue, wait, fired, false, alone, poll_level);
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

static int wait_in_turn(struct xpoll *queue, struct xp_wait *wait, struct xp_fired *fired)
{
	for (;;) {
		int rc;

		if (queue->turn.leader && wait->events &&
		    (!xp_list_empty(&queue->registrations.active) || xp_due_passed(queue)))
			take_without_turn(queue, wait);
		if (wait->len > 0)
			return 0;
		rc = xp_turn_take(queue, wait);
		if (rc > 0) {
			rc = wait_with_turn(queue, wait, fired, false, !wait->events);
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
	struct xp_fired fired[XP_FIRED_MOST];
	int rc;

	wait->wake_all = queue->wake.all;
	if (!xp_concurrent(queue))
		return wait_in_turn(queue, wait, fired);
	rc = wait_with_turn(queue, wait, fired, false, !wait->events);
	xp_kick_next(queue, wait);
	xp_pass_on(queue);
	return rc;
}

static XP_INLINE void wait_begin(struct xpoll *queue, struct xp_wait *wait)
{
	xp_mutex_assert_held(&queue->lock);
	XP_ASSERT(wait->cap > 0 && wait->len == 0);
	wait->wait_epoch = (uint32_t)++queue->counters.waits;
}

/*
 * Fill the wait's array or batch; sleep until there is something, until the
 * deadline, or until woken.  wait->len says how much; -EINTR, -EBADF.  The
 * lock is released while it sleeps, which is a cancellation point.
 */
static XP_INLINE int wait_run(struct xpoll *queue, struct xp_wait *wait, bool alone,
                              bool poll_level)
{
	wait_begin(queue, wait);
	return alone ? wait_with_turn(queue, wait, queue->alone.fired, true, poll_level)
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

static int64_t poll_deadline(int timeout_ms)
{
	return timeout_ms < 0 ? XP_NEVER : timeout_ms == 0 ? XP_NOW
		: xp_deadline(xp_sys_now(), timeout_ms * XP_NS_PER_MS);
}

static XP_INLINE int poll_wait_leave(struct xpoll *queue, const struct xp_wait *wait, int rc,
                                     bool alone)
{
	queue->batch.len = wait->len;
	queue->batch.next = 0;
	if (!alone)
		queue->polling = false;
	return wait_leave(queue, wait, rc, alone);
}

static XP_NOINLINE int poll_wait_among_others(struct xpoll *queue, int timeout_ms)
{
	sigset_t held;
	struct xp_wait wait = {
		.cap = XP_BATCH_CAP,
		.deadline_ns = poll_deadline(timeout_ms),
		.held = &held,
	};
	int rc = queue ? xp_enter(queue) : -EINVAL;

	if (rc == 0)
		rc = poll_wait_unusual(queue, false);
	if (rc < 0)
		return xp_result(rc);
	return poll_wait_leave(queue, &wait, wait_run(queue, &wait, false, true), false);
}

/* probed: poll(2) has checked this candidate, and has returned this. */
static XP_NOINLINE int poll_wait_alone(struct xpoll *queue, int timeout_ms,
                                       struct xp_slot *probed, int probe_rc)
{
	struct xp_wait *wait = &queue->alone.wait;
	int rc = 0;

	*wait = (struct xp_wait){
		.cap = XP_BATCH_CAP,
		.deadline_ns = poll_deadline(timeout_ms),
		.held = &queue->alone.held,
	};
	if (XP_UNLIKELY(queue->unusual) && !probed)
		rc = poll_wait_unusual(queue, true);
	if (XP_UNLIKELY(rc < 0))
		return xp_result(rc);
	wait_begin(queue, wait);
	if (XP_UNLIKELY(probed != NULL))
		xp_candidate_probed(queue, wait, &queue->candidates.probe, probed, false,
		                    probe_rc);
	else if (XP_UNLIKELY(queue->batch.next < queue->batch.len))
		xp_poll_return_batch(queue);
	rc = wait_loop(queue, wait, queue->alone.fired, probed, true, true);
	return poll_wait_leave(queue, wait, rc, true);
}

/* It is the only event of this wait. */
static XP_INLINE int poll_wait_single(struct xpoll *queue, struct xp_slot *slot)
{
	uint32_t bits = (uint32_t)queue->candidates.probe.revents;

	slot->history.fruitless = 0;
	slot->delivered.spent = 1;
	slot->delivered.epoch = (uint32_t)++queue->counters.waits;
	queue->batch.len = 1;
	queue->batch.next = 0;
	queue->batch.ready[0] = (struct xp_ready){
		.slot = slot,
		.token = xp_slot_token(slot, queue->candidates.probe.fd),
		.events = bits,
	};
	return xp_leave_alone(queue, 1);
}

/* The same, if the kernel need not be asked as well. */
static XP_NOINLINE int poll_wait_timed(struct xpoll *queue, int timeout_ms,
                                       struct xp_slot *slot, int rc)
{
	queue->ask.due |= xp_ask_is_time(queue);
	return queue->ask.due ? poll_wait_alone(queue, timeout_ms, slot, rc)
		: poll_wait_single(queue, slot);
}

/*
 * The usual wait of a program that handles one event after the other has one
 * candidate, which is ready.  That is all it needs, without what another wait needs;
 * 80 of 700 instructions a read of looptest.
 *
 * Here and not with its siblings: see os/sys_hot.h for why it is inline.
 */
int xpoll_wait(struct xpoll *queue, int timeout_ms)
{
	struct xp_slot *slot;
	int rc;

	if (XP_UNLIKELY(!queue || !xp_enter_alone(queue)))
		return poll_wait_among_others(queue, timeout_ms);
	if (queue->candidates.len != 1 || XP_UNLIKELY(queue->unusual) ||
	    XP_UNLIKELY(queue->batch.next < queue->batch.len))
		return poll_wait_alone(queue, timeout_ms, NULL, 0);
	slot = xp_slots_get(&queue->slots, queue->candidates.head);
	if (XP_UNLIKELY(!slot->check.enabled || !xp_candidate_is_simple(slot)))
		return poll_wait_alone(queue, timeout_ms, NULL, 0);
	rc = xp_candidate_probe(queue, slot);
	/* A half-close is checked whether it is wanted or not. */
	if (XP_UNLIKELY(rc <= 0 || queue->candidates.probe.revents & POLLRDHUP ||
	                !xp_probe_is_plain(slot, queue->candidates.probe.revents)) ||
	    xp_ask_is_due(queue))
		return poll_wait_alone(queue, timeout_ms, slot, rc);
	return XP_LIKELY(queue->ask.skipped < 2) ? poll_wait_single(queue, slot)
		: poll_wait_timed(queue, timeout_ms, slot, rc);
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

static XP_INLINE int event_wait(struct xpoll *queue, struct xp_wait *wait, bool alone)
{
	int rc = wait_run(queue, wait, alone, false);

	xp_count_by(&queue->counters.events, (uint64_t)wait->len);
	xp_event_count_finish(queue, wait);
	return wait_leave(queue, wait, rc, alone);
}

static XP_NOINLINE int event_wait_among_others(struct xpoll *queue, struct xpoll_event *events,
                                               int nevents, int64_t deadline_ns,
                                               const void *sigset)
{
	sigset_t held;
	struct xp_wait wait = {
		.events = events,
		.cap = nevents,
		.deadline_ns = deadline_ns,
		.mask = sigset,
		.held = &held,
	};

	return event_wait(queue, &wait, false);
}

/* Here for the same reason. */
static XP_INLINE int event_and_wait(struct xpoll *queue,
                                    const struct xpoll_event *changes,
                                    int nchanges, struct xpoll_event *events,
                                    int nevents, int64_t timeout_ns,
                                    const void *sigset)
{
	int rc = event_enter(queue, changes, nchanges, events, nevents);
	int64_t deadline_ns;

	if (XP_UNLIKELY(rc != 0))
		return xp_result(rc);
	deadline_ns = timeout_ns < 0 ? XP_NEVER : timeout_ns == 0 ? XP_NOW
		: xp_deadline(xp_sys_now(), timeout_ns);
	if (XP_UNLIKELY(queue->lock.held))
		return event_wait_among_others(queue, events, nevents, deadline_ns, sigset);
	queue->alone.wait = (struct xp_wait){
		.events = events,
		.cap = nevents,
		.deadline_ns = deadline_ns,
		.mask = sigset,
		.held = &queue->alone.held,
	};
	return event_wait(queue, &queue->alone.wait, true);
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
