/*
 * The wait.  It delivers what is ready without the kernel, asks the kernel if that is due,
 * and sleeps if there is nothing.  From top to bottom: each function is below its caller.
 */
#include "core/wait.h"

#include <errno.h>

#include "base/assert.h"
#include "base/result.h"
#include "base/time.h"
#include "core/ask.h"
#include "core/candidates.h"
#include "core/check.h"
#include "core/files.h"
#include "core/marks.h"
#include "core/renew.h"
#include "core/report.h"
#include "core/sleep.h"
#include "core/sources.h"
#include "core/threads.h"
#include "os/sys.h"

enum {
	VAIN_MOST = 32,  /* reports in a row without an event, before the kernel is not asked */
	VAIN_LEAST = 64, /* harvests without an event, before a wait past its deadline gives up */
	VAIN_EACH = 16,  /* and for each registration, which may have to be silenced */
};

static int wait_in_turn(struct xpoll *queue, struct xp_wait *wait);
static int wait_loop(struct xpoll *queue, struct xp_wait *wait);
static int wait_prepare(struct xpoll *queue, struct xp_wait *wait);
static void take_at_hand(struct xpoll *queue, struct xp_wait *wait);
static void gather(struct xpoll *queue, struct xp_wait *wait);
static bool may_sleep(const struct xpoll *queue, const struct xp_wait *wait);
static bool has_pending(const struct xpoll *queue);
static int harvest(struct xpoll *queue, struct xp_wait *wait, bool sleeps);
static int harvest_once(struct xpoll *queue, struct xp_wait *wait, bool sleeps, bool rest);
static int harvested(struct xpoll *queue, struct xp_wait *wait, int rc);
static bool may_have_more(const struct xpoll *queue, const struct xp_wait *wait);
static bool count_vain(const struct xpoll *queue, struct xp_wait *wait);
static bool take_end(struct xpoll *queue, const struct xp_wait *wait);
static void batch_return(struct xpoll *queue);

int64_t xp_wait_deadline(int64_t timeout_ns)
{
	return timeout_ns < 0 ? XP_NEVER : timeout_ns == 0 ? XP_NOW
		: xp_deadline(xp_sys_now(), timeout_ns);
}

int xp_wait_call(struct xpoll *queue, struct xp_wait *wait)
{
	sigset_t held;
	int rc = xp_wait_admit(queue, wait);

	if (XP_UNLIKELY(rc < 0))
		return xp_leave_with(queue, rc);
	XP_ASSERT(wait->cap > 0 && wait->len == 0);
	wait->held = &held;
	wait->epoch = (uint32_t)++queue->counters.waits;
	wait->wake_all = queue->wake.all;
	if (queue->threads.waiters > 0)
		queue->threads.shared = XP_SHARED_FOR;
	else
		queue->threads.shared -= queue->threads.shared > 0;
	batch_return(queue);
	if (XP_UNLIKELY(queue->withheld) && wait->format != XP_EVENTS)
		xp_check_withheld(queue);
	rc = wait_in_turn(queue, wait);
	xp_wait_dismiss(queue, wait);
	if (wait->format != XP_BATCH)
		xp_count_by(&queue->counters.events, (uint64_t)wait->len);
	if (rc == 0 && wait->len == 0) {
		xp_count(&queue->counters.empty_returns);
		xp_outer_settle(queue);
	}
	/* Another thread that sleeps may have to take what is left. */
	xp_sleepers_mark(queue);
	if (queue->threads.waiters > 0 && queue->ops->rearm)
		queue->ops->rearm(queue->backend);
	xp_leave(queue);
	if (XP_UNLIKELY(wait->holds))
		xp_sys_signals_release(&held);
	return XP_UNLIKELY(rc < 0) ? xp_result(rc) : wait->len;
}

/* Where one thread at a time is served, wait for the turn. */
static int wait_in_turn(struct xpoll *queue, struct xp_wait *wait)
{
	int rc;

	if (XP_LIKELY(xp_is_concurrent(queue))) {
		rc = wait_loop(queue, wait);
		xp_kick_next(queue, wait);
		return rc;
	}
	rc = xp_turn_take(queue, wait);
	if (rc <= 0)
		return rc;
	rc = wait_loop(queue, wait);
	xp_turn_pass(queue);
	return rc;
}

/* Returns 0, with wait->len records, or a negative errno value and no record. */
static int wait_loop(struct xpoll *queue, struct xp_wait *wait)
{
	for (;;) {
		bool sleeps;
		int rc = wait_prepare(queue, wait);

		if (XP_UNLIKELY(rc < 0))
			return rc;
		take_at_hand(queue, wait);
		if (wait->len > 0)
			return 0;
		sleeps = may_sleep(queue, wait);
		if (XP_UNLIKELY(sleeps && queue->kick.waiters > 0)) {
			/* Others have to come out first: this thread could take their wake-ups. */
			xp_await_left(queue, wait);
			continue;
		}
		rc = harvest(queue, wait, sleeps);
		if (wait->len > 0)
			return 0;
		if (XP_UNLIKELY(rc == -EINTR ? xp_is_interrupted(queue) : rc < 0))
			return rc;
		if (may_have_more(queue, wait)) {
			if (count_vain(queue, wait))
				return 0;
		} else if (take_end(queue, wait)) {
			return 0;
		}
	}
}

/* Let other threads and sources do what they have to before this one looks. */
static int wait_prepare(struct xpoll *queue, struct xp_wait *wait)
{
	while (XP_UNLIKELY(queue->threads.changers > 0))
		xp_await_left(queue, wait);
	if (XP_UNLIKELY(queue->threads.dying))
		return -EBADF;
	xp_sources_run_due(queue, wait->cap - wait->len);
	/* Some sources have events that the kernel does not report. */
	if (queue->probed)
		xp_sources_settle(queue, wait, XP_BEFORE_SLEEP);
	return XP_UNLIKELY(queue->unattached) ? xp_attach_rest(queue) : 0;
}

/* Deliver what is ready without the kernel.  The kernel is asked as well if that is due. */
static void take_at_hand(struct xpoll *queue, struct xp_wait *wait)
{
	bool lists = xp_sources_active(queue) || !xp_list_empty(&queue->files.awake) ||
		!xp_list_empty(&queue->files.asleep);

	if (!lists && queue->candidates.len == 0)
		return;
	if (XP_UNLIKELY(lists))
		gather(queue, wait);
	else
		xp_candidates_check(queue, wait);
	if (wait->len > 0 && (xp_ask_count(queue) ||
	                      ((wait->listed || queue->ask.crowded) && !xp_wait_is_full(wait))))
		(void)harvest(queue, wait, false);
}

/* Candidates, sources and files take turns at being the first. */
static void gather(struct xpoll *queue, struct xp_wait *wait)
{
	wait->listed = true;
	for (unsigned i = 0; i < 3; i++) {
		switch ((wait->epoch + i) % 3) {
		case 0:
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

/* Ready events go before a wake, so the kernel is asked in any case, but without sleeping. */
static bool may_sleep(const struct xpoll *queue, const struct xp_wait *wait)
{
	return !(atomic_load(&queue->wake.state) & XP_WAKE_PENDING) &&
		wait->wake_all == queue->wake.all &&
		(wait->deadline_ns != XP_NOW || wait->mask) &&
		!has_pending(queue);
}

/* The back end has changes that a thread beside others has to pass on before it sleeps. */
static bool has_pending(const struct xpoll *queue)
{
	return XP_UNLIKELY(queue->ops->has_pending != NULL) && xp_is_concurrent(queue) &&
		queue->ops->has_pending(queue->backend);
}

/*
 * Ask the kernel, and for the rest as long as there is some and room for it.  A report of what
 * this call has delivered means that all was reported; one that nobody wants does not.
 */
static int harvest(struct xpoll *queue, struct xp_wait *wait, bool sleeps)
{
	bool beside = wait->len > 0;
	int rc = harvest_once(queue, wait, sleeps, false);
	bool more = wait->full || wait->news;
	int vain = wait->news ? 0 : rc;

	while (XP_UNLIKELY(wait->full) && !xp_wait_is_full(wait) && vain < VAIN_MOST &&
	       (wait->news || !wait->repeated)) {
		int count = harvest_once(queue, wait, false, true);

		if (count <= 0)
			break; /* an error is the next wait's */
		vain = wait->news ? 0 : vain + count;
	}
	/* Beside events at hand it found others: there may be more of those. */
	if (beside && more)
		xp_ask_soon(queue);
	return harvested(queue, wait, rc);
}

/* Ask the kernel for reports, and deliver them. */
static int harvest_once(struct xpoll *queue, struct xp_wait *wait, bool sleeps, bool rest)
{
	struct xp_fired on_stack[XP_FIRED_MOST];
	/* The only thread of its process has a larger array, which needs no room on its stack. */
	bool alone = !queue->lock.held;
	struct xp_fired *fired = alone ? queue->fired : on_stack;
	int most = alone ? queue->fired_most : XP_FIRED_MOST;
	int room = xp_ask_begin(queue, wait->cap - wait->len, wait->len > 0 && !rest);
	int cap = room < most ? room : most;
	int rc;

	wait->full = wait->news = wait->repeated = false;
	rc = sleeps ? xp_sleep(queue, wait, fired, cap) : xp_look(queue, wait, fired, cap, rest);
	XP_ASSERT(rc <= cap);
	wait->full = rc == cap;
	for (int i = 0; i < rc; i++)
		xp_report(queue, wait, &fired[i]);
	/* Who watches xpoll_fd by edges sees nothing new while the set has a report left. */
	if (XP_UNLIKELY(queue->outer.exposed) && rc > 0 && !wait->news)
		wait->full = true;
	if (XP_UNLIKELY(wait->renew)) {
		wait->renew = false;
		xp_renew(queue);
		xp_kick_all(queue);
	}
	return rc;
}

/* The kernel has been asked, with this result: deliver what sources have from it. */
static int harvested(struct xpoll *queue, struct xp_wait *wait, int rc)
{
	if (XP_UNLIKELY(rc < 0) && queue->process != xp_process_current())
		return rc; /* the events are the parent's */
	if (wait->interrupted)
		rc = -EINTR;
	if (rc == -EINTR && wait->format == XP_EVENTS)
		xp_sources_settle(queue, wait, XP_BEFORE_EINTR);
	if (XP_UNLIKELY(xp_sources_active(queue)))
		xp_sources_deliver(queue, wait);
	if (XP_UNLIKELY(!xp_list_empty(&queue->files.awake)))
		xp_files_check(queue, wait);
	return rc;
}

/* Returns true if the wait has to look again, whatever the time is. */
static bool may_have_more(const struct xpoll *queue, const struct xp_wait *wait)
{
	return queue->candidates.len > 0 || wait->full || queue->unattached ||
		has_pending(queue) ||
		(wait->format == XP_EVENTS &&
		 (xp_sources_active(queue) || !xp_list_empty(&queue->files.awake))) ||
		(queue->due_ns != XP_NEVER && queue->due_ns <= xp_sys_now());
}

/*
 * A back end or a kernel that always has more must not keep a wait.  The deadline has passed,
 * and what is registered does not explain so many reports.  Counts this look.
 */
static bool count_vain(const struct xpoll *queue, struct xp_wait *wait)
{
	return ++wait->again > VAIN_LEAST &&
		wait->again > VAIN_LEAST + VAIN_EACH * queue->counters.registered &&
		xp_deadline_passed(wait);
}

/* Returns true if there is a reason to return nothing; it takes a wake, which is one. */
static bool take_end(struct xpoll *queue, const struct xp_wait *wait)
{
	if (wait->wake_all != queue->wake.all)
		return true;
	if (atomic_load(&queue->wake.state) & XP_WAKE_PENDING &&
	    atomic_fetch_and(&queue->wake.state, ~(unsigned)XP_WAKE_PENDING) & XP_WAKE_PENDING) {
		xp_count(&queue->counters.wakes);
		return true;
	}
	return xp_deadline_over(wait);
}

/* What xpoll_revents has not handed out is the first that the next wait finds. */
static void batch_return(struct xpoll *queue)
{
	struct xp_slot *slot;
	int before = queue->candidates.len;

	for (; XP_UNLIKELY(queue->batch.next < queue->batch.len); queue->batch.next++) {
		const struct xp_found *found = &queue->batch.found[queue->batch.next];
		int fd = xp_token_fd(found->token);

		slot = xp_slots_get(&queue->slots, fd);
		if (!xp_slot_is_of(slot, found->token) || !slot->enabled)
			continue;
		if (slot->mode == XP_MODE_FILE)
			xp_file_ask(queue, fd, slot->enabled);
		else
			xp_postpone(queue, fd, slot, slot->enabled, found->events);
	}
	/* Those from before go behind them. */
	for (before = before < queue->candidates.len ? before : 0; before > 0; before--) {
		int fd = xp_candidate_pop(queue, &slot);

		xp_candidate_append(queue, fd, slot);
	}
	queue->batch.next = queue->batch.len = 0;
}
