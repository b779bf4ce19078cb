/*
 * The wait loop: what is at hand, then the kernel.
 *
 * Inline, with what it calls before and after the system call: os/sys_hot.h says why.
 * It is compiled for each level for a thread that is the only one of its process,
 * and once more for one among others.
 */
#ifndef XP_CORE_WAIT_H
#define XP_CORE_WAIT_H

#include "base/assert.h"
#include "base/result.h"
#include "core/ask.h"
#include "core/batch.h"
#include "core/deliver.h"
#include "core/enter.h"
#include "core/gather.h"
#include "core/queue.h"
#include "core/recheck.h"
#include "core/renew.h"
#include "core/sleep.h"
#include "core/sources.h"
#include "os/sys.h"

_Static_assert((int)XP_BATCH_CAP <= (int)XP_FIRED_MOST, "what a first answer may bring finds room");

/* A sleep found nothing until its deadline. */
void xp_slept_in_vain(struct xpoll *queue, struct xp_wait *wait, bool alone);

/* Of a queue with anything unusual: may it have something to report that was not found? */
bool xp_wait_unusual(const struct xpoll *queue, const struct xp_wait *wait);

/*
 * The kernel ended a sleep with the error rc.  Returns false if that is EINTR without any
 * handler of the program's, because the process was stopped and continued: the wait goes on.
 * Releases the lock meanwhile, if other threads could wait for it.
 */
bool xp_wait_interrupted(struct xpoll *queue, int rc);

/* xpoll_wake was called, and no wait has returned for it yet: this one does. */
bool xp_wake_taken(struct xpoll *queue);

/* Is there a reason to return with nothing? */
static XP_INLINE bool xp_wait_over(struct xpoll *queue, const struct xp_wait *wait, bool alone)
{
	return (!alone && wait->wake_all != queue->wake.all) ||
		(xp_wake_is_pending(queue) && xp_wake_taken(queue)) || xp_wait_deadline_over(wait);
}

/* The wait of one thread among others, of either level; as xp_wait_loop. */
int xp_wait_among_others(struct xpoll *queue, struct xp_wait *wait, bool gathered);

/* The kernel is asked: how many entries for? */
static XP_INLINE int xp_wait_room(struct xpoll *queue, const struct xp_wait *wait, int at_hand,
                                bool alone, bool poll_level, bool first)
{
	int cap = wait->cap;

	queue->ask.due = false;
	queue->ask.skipped = 0;
	return first && poll_level ? cap : xp_ask_room(queue, cap - at_hand, at_hand,
	                   alone && !poll_level ? queue->fired_most : XP_FIRED_MOST);
}

/* Room for them; read each time, as a local variable would need a stack frame. */
static XP_INLINE struct xp_fired *xp_wait_entries(const struct xpoll *queue, struct xp_fired *fired,
                                          bool alone)
{
	return alone ? queue->alone.fired : fired;
}

/*
 * Ask the kernel; probe_only: do not sleep; first: see xp_deliver_fired.  alone,
 * poll_level, first: known when compiled, as in the functions below.
 */
static XP_INLINE int xp_ask_kernel(struct xpoll *queue, struct xp_wait *wait,
                                struct xp_fired *fired, bool probe_only, bool alone,
                                bool poll_level, bool first)
{
	int at_hand = 0;
	int cap, rc;

	if (probe_only) {
		at_hand = wait->len;
		cap = xp_wait_room(queue, wait, at_hand, alone, poll_level, first);
		rc = xp_ask_now(queue, wait, XP_NOW, xp_wait_entries(queue, fired, alone), cap);
	} else {
		cap = xp_wait_room(queue, wait, 0, alone, poll_level, first);
		xp_ask_begins(queue, wait);
		rc = alone ? xp_sleep_alone(queue, wait, cap)
			: xp_sleep_in_kernel(queue, wait, fired, cap);
	}
	XP_ASSERT(rc <= cap);
	wait->news = rc == cap;
	wait->exhausted = !wait->news;
	if (XP_UNLIKELY(rc <= 0)) {
		if (rc == 0 && !probe_only)
			xp_slept_in_vain(queue, wait, alone);
		return rc;
	}
	xp_deliver_fired(queue, wait, poll_level, xp_wait_entries(queue, fired, alone), rc, first);
	if (XP_UNLIKELY(!wait->exhausted))
		xp_ask_rest(queue, wait, xp_wait_entries(queue, fired, alone), rc, at_hand);
	if (XP_UNLIKELY(wait->renew)) {
		wait->renew = false;
		xp_renew(queue);
	}
	/* Edges of what the check of candidates has found are no news. */
	if (XP_UNLIKELY(at_hand > 0) && wait->news)
		queue->ask.due = true;
	return rc;
}

static XP_INLINE void xp_wait_check(struct xpoll *queue, struct xp_wait *wait,
                                       bool poll_level)
{
	if (!xp_candidate_check_single(queue, wait, poll_level))
		xp_candidates_check(queue, wait);
}

/* The kernel has answered so: 1: it has to be asked again; 0, or a negative errno value. */
static XP_INLINE int xp_wait_answered(struct xpoll *queue, struct xp_wait *wait, int rc,
                                   bool alone)
{
	if (XP_UNLIKELY(rc < 0 || queue->gathers))
		rc = xp_gather_reported(queue, wait, rc);
	if (wait->len > 0)
		return 0;
	if (XP_UNLIKELY(rc < 0) && xp_wait_interrupted(queue, rc))
		return rc;
	/*
	 * What fired may have to be checked; there may be more of it, and
	 * changes that did not fit may be what there is to report.  And
	 * who watches from outside by edges hears of nothing new while the
	 * kernel has something left to report.
	 */
	if (queue->candidates.len > 0 || !wait->exhausted || xp_has_pending(queue) ||
	    (XP_UNLIKELY(queue->unusual) && xp_wait_unusual(queue, wait)))
		return !xp_wait_in_vain(queue, wait);
	return !xp_wait_over(queue, wait, alone) && !(rc > 0 && xp_wait_in_vain(queue, wait));
}

/* gathered: what is at hand was gathered already.  0, -EINTR, or as xp_gather. */
static XP_INLINE int xp_wait_loop(struct xpoll *queue, struct xp_wait *wait,
                               struct xp_fired *fired, bool gathered, bool alone,
                               bool poll_level)
{
	for (;; gathered = false) {
		bool at_hand, probe_only;
		int rc = gathered;

		XP_ASSERT(gathered || wait->len == 0);
		if (XP_UNLIKELY(queue->gathers && !gathered))
			rc = xp_gather(queue, wait, alone);
		if (XP_UNLIKELY(rc < 0))
			return rc;
		at_hand = rc > 0 || queue->candidates.len > 0;
		if (at_hand && XP_LIKELY(rc == 0))
			xp_wait_check(queue, wait, poll_level);
		at_hand = at_hand && wait->len > 0;
		if (at_hand && !xp_ask_wanted(queue, wait))
			return 0;
		/* Ready events go before a wake, so look for them first. */
		probe_only = at_hand ||
			xp_wake_is_pending(queue) ||
			(!alone && wait->wake_all != queue->wake.all) ||
			(wait->deadline_ns == XP_NOW && !wait->mask) ||
			(!alone && xp_has_pending(queue));
		if (!alone && !probe_only && XP_UNLIKELY(queue->kick.waiters > 0)) {
			xp_sleep_until_thread_left(queue, wait);
			continue;
		}
		rc = xp_ask_kernel(queue, wait, fired, probe_only, alone, poll_level, false);
		rc = xp_wait_answered(queue, wait, rc, alone);
		if (rc <= 0)
			return rc;
	}
}

/* Before a thread among others leaves. */
static XP_INLINE void xp_wait_passes_on(struct xpoll *queue, struct xp_wait *wait)
{
	xp_kick_next(queue, wait);
	xp_pass_on(queue);
}

static XP_INLINE void xp_wait_begin(struct xpoll *queue, struct xp_wait *wait)
{
	xp_mutex_assert_held(&queue->lock);
	XP_ASSERT(wait->cap > 0 && wait->len == 0);
	wait->wait_epoch = (uint32_t)++queue->counters.waits;
}

/*
 * Of the event level: fill the wait's array; sleep until there is something, until the
 * deadline, or until woken.  wait->len says how much; -EINTR, -EBADF.  The
 * lock is released while it sleeps, which is a cancellation point.
 */
static XP_INLINE int xp_wait_run(struct xpoll *queue, struct xp_wait *wait, bool alone)
{
	xp_wait_begin(queue, wait);
	xp_batch_renew(queue);
	if (alone)
		return xp_wait_loop(queue, wait, NULL, false, true, false);
	wait->wake_all = queue->wake.all;
	return xp_wait_among_others(queue, wait, false);
}

/* Leave; a signal that was held back is handled now, without the lock. */
static XP_INLINE void xp_wait_release(struct xpoll *queue, const struct xp_wait *wait, bool alone)
{
	(void)(alone ? xp_leave_alone(queue, 0) : xp_leave_with(queue, 0));
	if (XP_UNLIKELY(wait->holds))
		xp_sys_signals_release(wait->held);
}

/* After it, with the result of the call. */
static XP_INLINE int xp_wait_leave(struct xpoll *queue, const struct xp_wait *wait, int rc,
                                bool alone)
{
	int len = wait->len;

	XP_ASSERT(rc == 0 || len == 0);
	if (!alone)
		xp_wait_forget(queue, wait);
	if (XP_LIKELY(len > 0)) {
		xp_wait_release(queue, wait, alone);
		return len;
	}
	if (rc == 0) {
		xp_attention_over(queue);
		xp_count(&queue->counters.empty_returns);
	}
	xp_wait_release(queue, wait, alone);
	return xp_result(rc);
}

#endif
