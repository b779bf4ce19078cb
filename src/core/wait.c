/*
 * The wait.  It delivers what is ready without the kernel, asks the kernel if that is due,
 * and sleeps if there is nothing.  From top to bottom: each function is below its caller.
 */
#include "core/wait.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/result.h"
#include "base/time.h"
#include "core/ask.h"
#include "core/candidates.h"
#include "core/check.h"
#include "core/files.h"
#include "core/marks.h"
#include "core/outer.h"
#include "core/renew.h"
#include "core/report.h"
#include "core/sleep.h"
#include "core/sources.h"
#include "core/threads.h"
#include "sys/sys.h"
#include "sys/sys_hot.h"

/*
 * Reports in a row without an event, after which a harvest ends, and looks without an event for
 * each registration, after which a wait past its deadline does: "A wait gives up".
 */
enum { VAIN_MOST = 32 };

static int wait_loop(struct xpoll *queue, struct xp_wait *wait);
static int wait_prepare(struct xpoll *queue, struct xp_wait *wait);
static void take_at_hand(struct xpoll *queue, struct xp_wait *wait);
static void gather(struct xpoll *queue, struct xp_wait *wait);
static bool is_asked_beside(struct xpoll *queue, const struct xp_wait *wait);
static int64_t sleep_until(const struct xpoll *queue, const struct xp_wait *wait);
static bool has_pending(const struct xpoll *queue);
static int harvest(struct xpoll *queue, struct xp_wait *wait, int64_t until_ns);
static int look(struct xpoll *queue, struct xp_wait *wait, int64_t how, struct xp_fired *fired,
                int cap);
static int sleep_alone(struct xpoll *queue, struct xp_wait *wait, int64_t until_ns,
                       struct xp_fired *fired, int cap);
static void harvest_rest(struct xpoll *queue, struct xp_wait *wait, struct xp_fired *fired,
                         int most, int rc, bool at_hand);
static void deliver(struct xpoll *queue, struct xp_wait *wait, const struct xp_fired *fired,
                    int rc, int cap);
static int harvested(struct xpoll *queue, struct xp_wait *wait, int rc);
static bool may_have_more(const struct xpoll *queue, const struct xp_wait *wait);
static bool count_vain(const struct xpoll *queue, struct xp_wait *wait);
static bool take_end(struct xpoll *queue, const struct xp_wait *wait);
static void batch_return(struct xpoll *queue);

int xp_wait_call(struct xpoll *queue, enum xp_format format, void *array, int cap,
                 int64_t timeout_ns, const sigset_t *mask)
{
	int rc = format & XP_ENTERED ? 0 : xp_enter(queue);
	struct xp_wait wait;
	bool alone, has_turn;

	if (XP_UNLIKELY(rc < 0))
		return xp_result(rc);
	/* alone: no other thread waits, sleeps or has to be woken. */
	alone = xp_entered_alone(queue);
	format &= ~(unsigned)XP_ENTERED;
	if (!alone && (rc = xp_wait_admit(queue, format)) < 0)
		return xp_leave_with(queue, rc);
	xp_records_begin(&wait, format == XP_BATCH ? queue->batch.found : array, cap);
	wait.deadline_ns = timeout_ns < 0 ? XP_NEVER : timeout_ns == 0 ? XP_NOW
		: xp_deadline(xp_sys_now(), timeout_ns);
	wait.own_mask = mask;
	wait.format = format;
	wait.epoch = (uint32_t)++queue->counters.waits;
	wait.wake_all = queue->wake.all;
	memset(&wait.looks, 0, sizeof wait - offsetof(struct xp_wait, looks));
	if (XP_UNLIKELY(!xp_batch_is_over(queue)))
		batch_return(queue);
	xp_batch_end(queue);
	/* Where one thread at a time is served, wait for the turn. */
	rc = alone || xp_is_concurrent(queue) ? 1 : xp_turn_take(queue, &wait);
	has_turn = rc > 0;
	if (XP_LIKELY(has_turn))
		rc = wait_loop(queue, &wait);
	if (!alone)
		xp_wait_dismiss(queue, &wait, has_turn);
	if (format == XP_BATCH)
		queue->batch.len = wait.len;
	else
		xp_count_by(&queue->counters.events, (uint64_t)wait.len);
	if (XP_UNLIKELY(wait.len == 0) && rc == 0) {
		xp_count(&queue->counters.empty_returns);
		xp_outer_settle(queue);
	}
	xp_leave(queue);
	if (XP_UNLIKELY(wait.holds))
		xp_sys_signals_release(&wait.blocked);
	return XP_UNLIKELY(rc < 0) ? xp_result(rc) : wait.len;
}

/* Returns 0, with wait->len records, or a negative errno value and no record. */
static XP_INLINE int wait_loop(struct xpoll *queue, struct xp_wait *wait)
{
	for (;;) {
		int64_t until_ns = XP_NOW;
		int rc = wait_prepare(queue, wait);

		if (XP_UNLIKELY(rc < 0))
			return rc;
		take_at_hand(queue, wait);
		if (wait->len == 0)
			until_ns = sleep_until(queue, wait);
		else if (!is_asked_beside(queue, wait))
			return 0;
		if (XP_UNLIKELY(until_ns != XP_NOW && queue->kick.left > 0)) {
			/* Others have to come out first: this thread could take their wake-ups. */
			xp_await_left(queue, wait);
			continue;
		}
		rc = harvest(queue, wait, until_ns);
		if (XP_LIKELY(wait->len > 0))
			return 0;
		if (XP_UNLIKELY(rc == -EINTR ? xp_is_interrupted(queue) : rc < 0))
			return rc;
		if ((!may_have_more(queue, wait) && take_end(queue, wait)) ||
		    count_vain(queue, wait))
			return 0;
	}
}

/* Let other threads and sources do what they have to before this one looks. */
static int wait_prepare(struct xpoll *queue, struct xp_wait *wait)
{
	while (XP_UNLIKELY(!xp_entered_alone(queue) && queue->threads.changers > 0))
		xp_await_left(queue, wait);
	if (XP_UNLIKELY(!xp_entered_alone(queue) && queue->threads.dying))
		return -EBADF;
	if (XP_UNLIKELY(queue->due_ns != XP_NEVER))
		xp_sources_run_due(queue, wait->cap - wait->len);
	if (XP_LIKELY(!(queue->withheld | queue->unattached | queue->probed)))
		return 0;
	if (queue->withheld && wait->format != XP_EVENTS)
		xp_check_withheld(queue);
	/* Some sources have events that the kernel does not report. */
	if (queue->probed)
		xp_sources_settle(queue, wait, XP_BEFORE_SLEEP);
	return queue->unattached ? xp_attach_rest(queue) : 0;
}

/* Deliver what is ready without the kernel. */
static void take_at_hand(struct xpoll *queue, struct xp_wait *wait)
{
	if (XP_UNLIKELY(xp_sources_active(queue) || xp_files_any(queue)))
		gather(queue, wait);
	else if (xp_has_candidates(queue))
		xp_candidates_check(queue, wait);
}

/* Candidates, sources and files take turns at being the first. */
static XP_NOINLINE void gather(struct xpoll *queue, struct xp_wait *wait)
{
	wait->listed = true;
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

/* Events are at hand: returns true if the kernel is asked as well. */
static bool is_asked_beside(struct xpoll *queue, const struct xp_wait *wait)
{
	return xp_ask_count(queue) ||
		(XP_UNLIKELY(wait->listed || queue->ask.crowded) && !xp_wait_is_full(wait));
}

/*
 * Until when may the thread sleep; XP_NOW: not at all.  A wake that is pending ends
 * the wait, but only after a look: ready events go before it.
 */
static int64_t sleep_until(const struct xpoll *queue, const struct xp_wait *wait)
{
	if (XP_UNLIKELY(xp_wake_is_pending(queue) || wait->wake_all != queue->wake.all ||
	                has_pending(queue)))
		return XP_NOW;
	if (XP_UNLIKELY(wait->deadline_ns == XP_NOW && xp_wait_mask(wait)))
		return XP_PAST;
	return wait->deadline_ns;
}

/* The back end has changes that a thread beside others has to pass on before it sleeps. */
static bool has_pending(const struct xpoll *queue)
{
	return XP_UNLIKELY(queue->ops->has_pending != NULL) && xp_is_concurrent(queue) &&
		queue->ops->has_pending(queue->backend);
}

/*
 * Ask the kernel, and again while it may have more and there is room.  Its reports rotate: once it
 * reports what this call has delivered already, it has reported everything.
 */
static XP_INLINE int harvest(struct xpoll *queue, struct xp_wait *wait, int64_t until_ns)
{
	struct xp_fired on_stack[XP_FIRED_MOST];
	/* The only thread of its process has a larger array, which needs no room on its stack. */
	bool alone = xp_entered_alone(queue), at_hand = wait->len > 0;
	struct xp_fired *fired = alone ? queue->fired : on_stack;
	int most = alone ? queue->fired_most : XP_FIRED_MOST;
	int room = xp_ask_room(queue, wait->cap - wait->len, at_hand);
	int cap = room < most ? room : most;
	int rc = until_ns == XP_NOW ? look(queue, wait, XP_NOW, fired, cap)
		: alone && !wait->holds ? sleep_alone(queue, wait, until_ns, fired, cap)
		: xp_sleep_beside(queue, wait, until_ns, fired, cap);

	deliver(queue, wait, fired, rc, cap);
	if (XP_UNLIKELY(wait->more || at_hand))
		harvest_rest(queue, wait, fired, most, rc, at_hand);
	if (XP_UNLIKELY(rc < 0 || wait->interrupted || xp_sources_active(queue) ||
	                xp_files_any(queue)))
		return harvested(queue, wait, rc);
	return rc;
}

/* Without sleeping; how: XP_NOW or XP_REST. */
static int look(struct xpoll *queue, struct xp_wait *wait, int64_t how, struct xp_fired *fired,
                int cap)
{
	int rc;

	xp_ask_begins(queue, wait);
	rc = queue->ops->wait(queue->backend, how, NULL, fired, cap);
	xp_timer_waiter_answered(queue);
	if (XP_UNLIKELY(queue->kick.left > 0))
		xp_kicks_taken(queue, wait, fired, rc);
	return rc;
}

/*
 * Sleep as the only thread of the process.  It can be cancelled by itself alone, and that before
 * it sleeps; if signals were held, xp_sleep_beside would release them.  A wait for ever need not
 * go through the back end: see direct_fd_at there.
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
	xp_cancel_alone();
	timer = xp_sleep_begin(queue, wait, &until_ns);
	rc = XP_LIKELY(direct_fd >= 0 && !xp_wait_mask(wait) && until_ns == XP_NEVER)
		? xp_sys_direct_wait(direct_fd, fired, cap)
		: queue->ops->wait(queue->backend, until_ns, xp_wait_mask(wait), fired, cap);
	if (XP_UNLIKELY(xp_lock_again(queue) < 0))
		return -EINTR;
	if (XP_UNLIKELY(rc == 0))
		xp_wait_slept(wait, rc, until_ns);
	xp_moment_end(queue);
	xp_sleep_end(queue, timer);
	return rc;
}

/* Ask for more if there is, and room for it. */
static XP_NOINLINE void harvest_rest(struct xpoll *queue, struct xp_wait *wait,
                                     struct xp_fired *fired, int most, int rc, bool at_hand)
{
	bool found = wait->more || wait->delivered_some;
	int vain = wait->delivered_some ? 0 : rc;

	while (wait->more && !xp_wait_is_full(wait) && vain < VAIN_MOST &&
	       (wait->delivered_some || !wait->repeated)) {
		int room = xp_ask_room(queue, wait->cap - wait->len, false);
		int cap = room < most ? room : most;

		rc = look(queue, wait, XP_REST, fired, cap); /* an error is the next wait's */
		deliver(queue, wait, fired, rc, cap);
		vain = wait->delivered_some ? 0 : vain + rc;
	}
	/* Beside events at hand it found others: there may be more of those. */
	if (at_hand && found)
		xp_ask_soon(queue);
}

/* The kernel has returned these reports, or an error. */
static void deliver(struct xpoll *queue, struct xp_wait *wait, const struct xp_fired *fired,
                    int rc, int cap)
{
	XP_ASSERT(rc <= cap);
	xp_reports_begin(wait, rc == cap);
	for (int i = 0; i < rc; i++)
		xp_report(queue, wait, &fired[i]);
	/* Edges of xpoll_fd: their reader sees nothing new while the set has a report left. */
	if (XP_UNLIKELY(queue->outer.exposed) && rc > 0 && !wait->delivered_some)
		xp_reports_go_on(wait);
	if (XP_UNLIKELY(wait->renew))
		xp_renew(queue);
}

/* The kernel has been asked, with this result: deliver what sources have from it. */
static XP_NOINLINE int harvested(struct xpoll *queue, struct xp_wait *wait, int rc)
{
	if (rc < 0 && !xp_process_owns(queue))
		return rc; /* the events are the parent's */
	if (wait->interrupted)
		rc = -EINTR;
	if (rc == -EINTR && wait->format == XP_EVENTS)
		xp_sources_settle(queue, wait, XP_BEFORE_EINTR);
	if (wait->format == XP_EVENTS)
		xp_sources_deliver(queue, wait);
	if (!xp_list_empty(&queue->files.awake))
		xp_files_check(queue, wait);
	return rc;
}

/* Returns true if the wait has to look again, whatever the time is. */
static XP_NOINLINE bool may_have_more(const struct xpoll *queue, const struct xp_wait *wait)
{
	return xp_has_candidates(queue) || wait->more || queue->unattached ||
		has_pending(queue) ||
		(wait->format == XP_EVENTS &&
		 (xp_sources_active(queue) || !xp_list_empty(&queue->files.awake))) ||
		(queue->due_ns != XP_NEVER && queue->due_ns <= xp_sys_now());
}

/*
 * A back end or a kernel that always has more, or reports what nobody wants, must not keep a
 * wait.  The deadline has passed, and what is registered does not explain so many reports.
 * Counts this look.
 */
static XP_NOINLINE bool count_vain(const struct xpoll *queue, struct xp_wait *wait)
{
	return ++wait->looks > VAIN_MOST * (queue->counters.registered + 1) &&
		xp_deadline_passed(wait);
}

/* Returns true if there is a reason to return nothing; it takes a wake, which is one. */
static XP_NOINLINE bool take_end(struct xpoll *queue, const struct xp_wait *wait)
{
	if (wait->wake_all != queue->wake.all)
		return true;
	if (xp_wake_take(queue)) {
		xp_count(&queue->counters.wakes);
		return true;
	}
	return xp_deadline_over(wait);
}

/* The next wait finds first the records that xpoll_revents has not handed out. */
static XP_NOINLINE void batch_return(struct xpoll *queue)
{
	struct xp_slot *slot;
	int before = queue->candidates.len;

	while (!xp_batch_is_over(queue)) {
		const struct xp_found *found = xp_batch_next(queue);
		int fd = xp_token_fd(found->token);

		slot = xp_slots_get(queue, fd);
		if (!xp_slot_is_of(slot, found->token) || !slot->enabled)
			continue;
		if (slot->mode == XP_MODE_FILE)
			xp_file_ask(queue, fd, slot->enabled);
		else
			xp_postpone(queue, fd, slot, slot->enabled, found->events);
	}
	/* Candidates from before go behind these. */
	for (before = before < queue->candidates.len ? before : 0; before > 0; before--) {
		int fd = xp_candidate_pop(queue, &slot);

		xp_candidate_append(queue, fd, slot);
	}
}
