/* The poll-like level: xpoll_ctl, xpoll_pwait, xpoll_wait, xpoll_revents. */
#include "core/batch.h"

#include <errno.h>

#include "base/result.h"
#include "base/time.h"
#include "core/candidate.h"
#include "core/change.h"
#include "core/deliver.h"
#include "core/enter.h"
#include "core/interest.h"
#include "core/recheck.h"
#include "core/wait.h"
#include "os/fdnum.h"
#include "os/sys.h"

#define POLL_EVENTS (POLLIN | POLLOUT | POLLPRI | XP_NAMED_RDHUP)

/* The filters that a change names: no bits are a READ that reports errors and hang-ups alone. */
static unsigned named(int events)
{
	return events ? xp_entry_filters((uint32_t)events) : XP_BIT(XP_READ);
}

static unsigned requests(int events)
{
	return (events & POLLIN ? XP_REQUEST_IN : 0) | (events & POLLRDHUP ? XP_REQUEST_RDHUP : 0);
}

static bool ctl_valid(int op, int events)
{
	if (events & ~POLL_EVENTS)
		return false;
	if (op == XPOLL_ENABLE || op == XPOLL_DISABLE || op == XPOLL_DELETE)
		return true;
	if (op & XPOLL_WHOLE && !(op & (XPOLL_ONESHOT | XPOLL_DISPATCH)))
		return false;
	op &= ~(XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH | XPOLL_WHOLE);
	return op == XPOLL_ADD || op == (XPOLL_ADD | XPOLL_DISABLE);
}

static int ctl_add(struct xpoll *queue, int op, int events, int fd, void *data)
{
	struct xp_interest add = {
		.filters = named(events),
		.modes = op & (XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH | XPOLL_WHOLE),
		.requested = requests(events),
		.enable = !(op & XPOLL_DISABLE),
		.disable = op & XPOLL_DISABLE,
		.udata = xp_udata_pointer(data),
	};

	return xp_change_add(queue, fd, &add);
}

/*
 * POLLIN and POLLRDHUP are two requests of one filter.  Nobody filters what the
 * kernel reports beyond them, so where that is not known they stay.
 */
static int requested_narrow(struct xpoll *queue, int fd, struct xp_slot *slot,
                            unsigned requested)
{
	uint8_t before = slot->requested;
	int rc;

	slot->requested = (uint8_t)(requested | (before & XP_REQUEST_OOB));
	rc = xp_change_narrowed(queue, fd, slot, XP_BIT(XP_READ));
	if (xp_is_lack(rc))
		slot->requested = before;
	return rc;
}

static int ctl_delete(struct xpoll *queue, int events, int fd)
{
	struct xp_slot *slot = xp_entry_find(queue, fd);
	unsigned filters = named(events);
	unsigned before = slot ? slot->requested & (XP_REQUEST_IN | XP_REQUEST_RDHUP) : 0;
	unsigned requested = before & ~requests(events);

	if (events && requested == before)
		filters &= ~XP_BIT(XP_READ);
	if (slot && requested && filters & XP_BIT(XP_READ)) {
		int rc = requested_narrow(queue, fd, slot, requested);

		filters &= ~XP_BIT(XP_READ);
		/* A request went: others that are named need not be there. */
		if (rc < 0 || !(filters & slot->present))
			return rc;
	}
	return xp_change_delete(queue, fd, filters);
}

/* See xp_interest_free_change. */
static XP_INLINE bool ctl_free_change(struct xpoll *queue, int op, int events, int fd,
                                      bool alone)
{
	/* By poll(2)'s oldest bits; of other changes, no filter. */
	static const uint8_t filters[(POLLIN | POLLOUT | POLLPRI) + 1] = {
		[POLLIN] = XP_BIT(XP_READ),
		[POLLOUT] = XP_BIT(XP_WRITE),
		[POLLPRI] = XP_BIT(XP_EXCEPT),
	};

	return (unsigned)events < sizeof filters &&
		xp_interest_free_change(queue, fd, filters[events], op == XPOLL_ENABLE,
		                        alone);
}

/* Is READ registered for errors and hang-ups alone? */
static bool is_without_bits(const struct xpoll *queue, int fd)
{
	const struct xp_slot *slot = xp_entry_find(queue, fd);

	return slot && slot->present & XP_BIT(XP_READ) &&
		!(slot->requested & (XP_REQUEST_IN | XP_REQUEST_RDHUP));
}

static int ctl_change(struct xpoll *queue, int op, int events, int fd,
                      void *data)
{
	uint64_t before = xp_counter_read(&queue->counters.syscalls_change);
	int rc;

	if (op & XPOLL_ADD)
		rc = ctl_add(queue, op, events, fd, data);
	else if (!events && !is_without_bits(queue, fd))
		rc = xp_change_delete(queue, fd, 0); /* ENOENT, or EBADF. */
	else if (op & XPOLL_DELETE)
		rc = ctl_delete(queue, events, fd);
	else if (op & XPOLL_ENABLE)
		rc = xp_change_enable(queue, fd, named(events));
	else
		rc = xp_change_disable(queue, fd, named(events));
	xp_change_counted(queue, rc, before);
	return rc;
}

static XP_NOINLINE int ctl_entered(struct xpoll *queue, int op, int events, int fd,
                                   void *data)
{
	int rc = ctl_valid(op, events) ? 0 : -EINVAL;

	if (rc == 0) {
		xp_change_begins(queue);
		rc = ctl_change(queue, op, events, fd, data);
	}
	xp_leave(queue);
	return xp_result(rc);
}

/* Any change, any number of threads. */
static XP_NOINLINE int ctl(struct xpoll *queue, int op, int events, int fd,
                           void *data)
{
	int rc = queue ? xp_enter(queue) : -EINVAL;

	return rc < 0 ? xp_result(rc) : ctl_entered(queue, op, events, fd, data);
}

/* ENABLE or DISABLE, where xp_enter_alone has failed. */
static XP_NOINLINE int ctl_toggle_among_others(struct xpoll *queue, int op, int events, int fd)
{
	int rc = xp_enter_among_others(queue);

	if (XP_UNLIKELY(rc < 0))
		return xp_result(rc);
	if (XP_UNLIKELY(!ctl_free_change(queue, op, events, fd, false)))
		return ctl_entered(queue, op, events, fd, NULL);
	return xp_leave_with(queue, 0);
}

int xpoll_ctl(struct xpoll *queue, int op, int events, xpoll_fd_t descriptor,
              void *data)
{
	int fd = xp_fd_of(descriptor);

	if ((op == XPOLL_ENABLE || op == XPOLL_DISABLE) && queue) {
		if (!xp_enter_alone(queue))
			return ctl_toggle_among_others(queue, op, events, fd);
		if (XP_LIKELY(ctl_free_change(queue, op, events, fd, true)))
			return xp_leave_alone(queue, 0);
		xp_mutex_unlock_alone(&queue->lock);
	}
	return ctl(queue, op, events, fd, data);
}

static int64_t poll_deadline(int timeout_ms)
{
	return timeout_ms < 0 ? XP_NEVER : timeout_ms == 0 ? XP_NOW
		: xp_deadline(xp_sys_now(), timeout_ms * XP_NS_PER_MS);
}

static XP_INLINE struct xp_wait *poll_wait_of(struct xpoll *queue, int64_t deadline_ns)
{
	queue->alone.wait = (struct xp_wait){
		.cap = XP_BATCH_CAP,
		.deadline_ns = deadline_ns,
	};
	return &queue->alone.wait;
}

/* Begin; probed: poll(2) has checked this candidate, and has returned this. */
static XP_INLINE void poll_wait_begin(struct xpoll *queue, struct xp_wait *wait,
                                      struct xp_slot *probed, int probe_rc)
{
	if (XP_UNLIKELY(queue->withheld))
		xp_candidates_withheld(queue);
	xp_wait_begin(queue, wait);
	xp_batch_renew(queue);
	if (XP_UNLIKELY(probed != NULL))
		xp_candidate_probed(queue, wait, &queue->candidates.probe, probed, false,
		                    probe_rc);
}

/* The rest of the waits below: any wait, without and among other threads. */
static XP_NOINLINE int poll_wait_any_alone(struct xpoll *queue, int timeout_ms,
                                           struct xp_slot *probed, int probe_rc)
{
	struct xp_wait *wait = poll_wait_of(queue, poll_deadline(timeout_ms));
	int rc;

	poll_wait_begin(queue, wait, probed, probe_rc);
	rc = xp_wait_loop(queue, wait, NULL, probed, true, true);
	return xp_wait_leave(queue, wait, rc, true);
}

static XP_NOINLINE int poll_wait_any_among_others(struct xpoll *queue, int timeout_ms,
                                                  struct xp_slot *probed, int probe_rc)
{
	sigset_t held;
	struct xp_wait wait = {
		.cap = XP_BATCH_CAP,
		.deadline_ns = poll_deadline(timeout_ms),
		.held = &held,
	};
	int rc;

	poll_wait_begin(queue, &wait, probed, probe_rc);
	wait.wake_all = queue->wake.all;
	xp_wait_admitted(queue, &wait);
	rc = xp_wait_among_others(queue, &wait, probed);
	return xp_wait_leave(queue, &wait, rc, false);
}

static XP_INLINE int poll_wait_any(struct xpoll *queue, int timeout_ms,
                                   struct xp_slot *probed, int probe_rc, bool alone)
{
	return alone ? poll_wait_any_alone(queue, timeout_ms, probed, probe_rc)
		: poll_wait_any_among_others(queue, timeout_ms, probed, probe_rc);
}

/* The kernel has answered with rc, which decides nothing yet: finish the wait. */
static XP_NOINLINE int poll_wait_goes_on(struct xpoll *queue, struct xp_wait *wait, int rc)
{
	rc = xp_wait_answered(queue, wait, rc, true);
	if (rc > 0)
		rc = xp_wait_loop(queue, wait, NULL, false, true, true);
	return xp_wait_leave(queue, wait, rc, true);
}

/* Nothing is at hand: sleep.  Only on epoll, which reports an entry once in each call. */
static XP_NOINLINE int poll_wait_kernel_alone(struct xpoll *queue)
{
	struct xp_wait *wait = poll_wait_of(queue, XP_NEVER);
	int rc;

	xp_wait_begin(queue, wait);
	xp_batch_begin(queue, 0);
	rc = xp_ask_kernel(queue, wait, NULL, false, true, true, true);
	return XP_LIKELY(wait->len > 0 && !queue->unusual)
		? xp_wait_leave(queue, wait, 0, true) : poll_wait_goes_on(queue, wait, rc);
}

/* The same; others may change what is registered meanwhile. */
static XP_NOINLINE int poll_wait_kernel_among_others(struct xpoll *queue)
{
	struct xp_fired fired[XP_FIRED_MOST];
	sigset_t held;
	struct xp_wait wait = {
		.cap = XP_BATCH_CAP,
		.deadline_ns = XP_NEVER,
		.held = &held,
		.wake_all = queue->wake.all,
	};
	int rc;

	xp_wait_begin(queue, &wait);
	xp_batch_begin(queue, 0);
	xp_wait_admitted(queue, &wait);
	rc = xp_ask_kernel(queue, &wait, fired, false, false, true, false);
	rc = xp_wait_answered(queue, &wait, rc, false);
	if (rc > 0)
		rc = xp_wait_among_others(queue, &wait, false);
	else
		xp_wait_passes_on(queue, &wait);
	return xp_wait_leave(queue, &wait, rc, false);
}

/* It is the only event of this wait. */
static XP_INLINE int poll_wait_single(struct xpoll *queue, struct xp_slot *slot, bool alone)
{
	uint32_t bits = (uint32_t)queue->candidates.probe.revents;

	slot->history.fruitless = 0;
	slot->delivered.spent = 1;
	slot->delivered.epoch = (uint32_t)++queue->counters.waits;
	xp_batch_begin(queue, 1);
	queue->batch.ready[0] = (struct xp_ready){
		.slot = slot,
		.token = xp_slot_token(slot, queue->candidates.probe.fd),
		.events = bits,
	};
	if (alone)
		xp_mutex_unlock_alone(&queue->lock);
	else
		xp_mutex_unlock(&queue->lock);
	return 1;
}

/* The same, if the kernel need not be asked as well. */
static XP_NOINLINE int poll_wait_single_or_more(struct xpoll *queue, int timeout_ms,
                                                struct xp_slot *slot, int rc)
{
	bool alone = !queue->lock.held;

	queue->ask.due = xp_ask_is_due(queue);
	return queue->ask.due ? poll_wait_any(queue, timeout_ms, slot, rc, alone)
		: poll_wait_single(queue, slot, alone);
}

/*
 * The usual wait of a program that handles one event after the other has one
 * candidate, which is ready.  That is all it needs, without what another wait needs;
 * 80 of 700 instructions a read of looptest.
 */
static XP_INLINE int poll_wait(struct xpoll *queue, int timeout_ms, bool alone)
{
	struct xp_slot *slot;
	int rc;

	if (XP_UNLIKELY(queue->unusual || xp_batch_left(queue)))
		return poll_wait_any(queue, timeout_ms, NULL, 0, alone);
	if (queue->candidates.len != 1) {
		if (queue->candidates.len > 0 || timeout_ms >= 0 || !queue->lazy ||
		    XP_UNLIKELY(xp_wake_is_pending(queue)))
			return poll_wait_any(queue, timeout_ms, NULL, 0, alone);
		return alone ? poll_wait_kernel_alone(queue) : poll_wait_kernel_among_others(queue);
	}
	slot = xp_slots_get(&queue->slots, queue->candidates.head);
	if (XP_UNLIKELY(!slot->check.enabled || !xp_candidate_is_simple(slot)))
		return poll_wait_any(queue, timeout_ms, NULL, 0, alone);
	rc = xp_candidate_probe(queue, slot);
	/* A half-close is checked whether it is wanted or not. */
	if (XP_UNLIKELY(rc <= 0 || queue->candidates.probe.revents & POLLRDHUP ||
	                !xp_probe_is_plain(queue->candidates.probe.revents)))
		return poll_wait_any(queue, timeout_ms, slot, rc, alone);
	return xp_ask_first_skip(queue) ? poll_wait_single(queue, slot, alone)
		: poll_wait_single_or_more(queue, timeout_ms, slot, rc);
}

/* While others sleep there are more things to think of: those waits are not short. */
static XP_NOINLINE int poll_wait_among_others(struct xpoll *queue, int timeout_ms)
{
	int rc = queue ? xp_enter_among_others(queue) : -EINVAL;

	if (XP_UNLIKELY(rc < 0))
		return xp_result(rc);
	if (queue->in_wait.batch || xp_event_level_waits(queue))
		return xp_result(xp_leave_with(queue, -EBUSY));
	return XP_UNLIKELY(queue->threads.waiters > 0 || !queue->lazy)
		? poll_wait_any_among_others(queue, timeout_ms, NULL, 0)
		: poll_wait(queue, timeout_ms, false);
}

/* Waits into the caller's own array: no short paths. */
static int pwait_among_others(struct xpoll *queue, struct xp_wait wait)
{
	sigset_t held;
	int rc;

	if (xp_event_level_waits(queue))
		return xp_result(xp_leave_with(queue, -EBUSY));
	wait.held = &held;
	wait.wake_all = queue->wake.all;
	xp_wait_admitted(queue, &wait);
	poll_wait_begin(queue, &wait, NULL, 0);
	rc = xp_wait_among_others(queue, &wait, false);
	xp_count_by(&queue->counters.events, (uint64_t)wait.len);
	return xp_wait_leave(queue, &wait, rc, false);
}

static int pwait_alone(struct xpoll *queue, const struct xp_wait *like)
{
	struct xp_wait *wait = &queue->alone.wait;
	int rc;

	*wait = *like;
	poll_wait_begin(queue, wait, NULL, 0);
	rc = xp_wait_loop(queue, wait, NULL, false, true, true);
	xp_count_by(&queue->counters.events, (uint64_t)wait->len);
	return xp_wait_leave(queue, wait, rc, true);
}

int xpoll_pwait(struct xpoll *queue, struct xpoll_ready *ready, int nready, int64_t timeout_ns,
                const void *sigset)
{
	struct xp_wait wait = {.ready = ready, .cap = nready, .mask = sigset};
	int rc = queue && ready && nready > 0 ? xp_enter(queue) : -EINVAL;

	if (rc < 0)
		return xp_result(rc);
	wait.deadline_ns = timeout_ns < 0 ? XP_NEVER : timeout_ns == 0 ? XP_NOW
		: xp_deadline(xp_sys_now(), timeout_ns);
	return queue->lock.held ? pwait_among_others(queue, wait) : pwait_alone(queue, &wait);
}

int xpoll_wait(struct xpoll *queue, int timeout_ms)
{
	if (XP_UNLIKELY(!queue || !xp_enter_alone(queue)))
		return poll_wait_among_others(queue, timeout_ms);
	return poll_wait(queue, timeout_ms, true);
}

/*
 * The program gets this entry: apply its modes.  ONESHOT ends, DISPATCH is disabled, and
 * CLEAR is not checked again.
 */
static XP_NOINLINE int hand_out_by_mode(struct xpoll *queue, const struct xp_ready *entry,
                                        unsigned filters, uint32_t bits)
{
	struct xp_slot *slot = entry->slot;
	int fd = xp_token_fd(entry->token);

	xp_poll_handed(queue, fd, slot, filters, entry->events);
	return xp_leave_with(queue, (int)bits);
}

/* Hand it out, and leave.  Without a call on the usual way it needs no stack frame. */
static XP_INLINE int hand_out(struct xpoll *queue, const struct xp_ready *entry,
                              uint32_t bits, void **datap, bool alone)
{
	struct xp_slot *slot = entry->slot;
	unsigned filters = xp_poll_filters(slot, bits);

	if (datap) /* That of the first of them. */
		*datap = slot->udata[XP_LOWEST_BIT(filters)].pointer;
	xp_count(&queue->counters.events);
	if (XP_UNLIKELY(slot->modes.any || slot->mode > XP_MODE_EDGE ||
	                entry->events & (POLLPRI | POLLERR)))
		return hand_out_by_mode(queue, entry, filters, bits);
	if (slot->mode == XP_MODE_EDGE)
		xp_recheck_level(queue, xp_token_fd(entry->token), slot, filters);
	return alone ? xp_leave_alone(queue, (int)bits) : xp_leave_with(queue, (int)bits);
}

/* The next entry that still stands, and leave; 0: there is none. */
static XP_INLINE int batch_next(struct xpoll *queue, void **datap, bool alone)
{
	while (xp_batch_left(queue)) {
		const struct xp_ready *entry = queue->batch.next++;
		const struct xp_slot *slot = xp_ready_slot(entry);
		uint32_t bits = slot ? xp_poll_bits(slot, entry->events) : 0;

		if (XP_UNLIKELY(!bits))
			continue;
		/* It may still be ready, which those that sleep do not know by an edge. */
		if (!alone && slot->mode == XP_MODE_EDGE)
			queue->recheck_wanted |= queue->threads.waiters > 0;
		return hand_out(queue, entry, bits, datap, alone);
	}
	return xp_leave_with(queue, 0);
}

/* 0, not -1: that would be all bits, and a loop without end. */
static XP_NOINLINE int revents_failed(int rc)
{
	(void)xp_result(rc);
	return 0;
}

static XP_NOINLINE int revents(struct xpoll *queue, void **datap)
{
	int rc = xp_enter_among_others(queue);

	return XP_LIKELY(rc == 0) ? batch_next(queue, datap, false) : revents_failed(rc);
}

/* Every second call or so finds the end of the batch: that one is kept short. */
int xpoll_revents(struct xpoll *queue, void **datap)
{
	if (XP_UNLIKELY(!queue))
		return revents_failed(-EINVAL);
	if (!xp_may_enter_alone(queue))
		return revents(queue, datap);
	if (!xp_batch_left(queue))
		return 0;
	xp_mutex_lock_alone(&queue->lock);
	return batch_next(queue, datap, true);
}
