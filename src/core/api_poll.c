/* The poll-like level: xpoll_ctl, xpoll_pwait, xpoll_wait, xpoll_revents. */

#include "core/entry.h"
#include "core/report.h"
#include "core/sleep.h"
#include "core/wait.h"
#include "sys/fdnum.h"

#define POLL_EVENTS (POLLIN | POLLOUT | POLLPRI | XP_PUBLIC_RDHUP)
#define CTL_MODES   (XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH | XPOLL_WHOLE)

/*
 * Returns the filters that a change with these bits of poll(2) names.  A change without bits names
 * READ, for errors and hang-ups only.
 */
static unsigned ctl_filters(int events)
{
	return events ? xp_filters_of((uint32_t)events) : XP_BIT(XP_READ);
}

static unsigned ctl_requested(int events)
{
	return (events & POLLIN ? XP_REQUEST_IN : 0u) |
		(events & POLLRDHUP ? XP_REQUEST_RDHUP : 0u);
}

static bool ctl_valid(int op, int events)
{
	int action = op & ~CTL_MODES;

	if (events & ~POLL_EVENTS)
		return false;
	if (op == XPOLL_ENABLE || op == XPOLL_DISABLE || op == XPOLL_DELETE)
		return true;
	if (op & XPOLL_WHOLE && !(op & (XPOLL_ONESHOT | XPOLL_DISPATCH)))
		return false;
	return action == XPOLL_ADD || action == (XPOLL_ADD | XPOLL_DISABLE);
}

static int ctl_add(struct xpoll *queue, int op, int events, int fd, void *data)
{
	return xp_change_add(queue, fd, &(struct xp_interest){
		.filters = ctl_filters(events),
		.modes = (unsigned)op & CTL_MODES,
		.requested = ctl_requested(events),
		.enable = !(op & XPOLL_DISABLE),
		.disable = op & XPOLL_DISABLE,
		.udata = xp_udata_pointer(data),
	});
}

/*
 * Apply XPOLL_DELETE.  POLLIN and POLLRDHUP are two requests for READ, which stays registered as
 * long as one of them remains.
 */
static int ctl_delete(struct xpoll *queue, int events, int fd)
{
	struct xp_slot *slot = xp_entry_find(queue, fd);
	unsigned filters = ctl_filters(events);
	unsigned before = slot ? slot->requested & (XP_REQUEST_IN | XP_REQUEST_RDHUP) : 0;
	unsigned requested = before & ~ctl_requested(events);

	if (events && requested == before)
		filters &= ~XP_BIT(XP_READ); /* READ stays: the named bits were not requested */
	if (requested && filters & XP_BIT(XP_READ)) {
		int rc = xp_change_request(queue, fd, slot, requested);

		filters &= ~XP_BIT(XP_READ);
		/*
		 * One of the named bits has been deleted, so it is no error if other named filters
		 * are not registered.
		 */
		if (rc < 0 || !(filters & slot->present))
			return rc;
	}
	return xp_change_delete(queue, fd, filters);
}

/* Returns true if READ is registered without POLLIN and POLLRDHUP, for errors and hang-ups. */
static bool is_without_bits(const struct xpoll *queue, int fd)
{
	const struct xp_slot *slot = xp_entry_find(queue, fd);

	return slot && slot->present & XP_BIT(XP_READ) &&
		!(slot->requested & (XP_REQUEST_IN | XP_REQUEST_RDHUP));
}

static int ctl(struct xpoll *queue, int op, int events, int fd, void *data, struct xp_late *late)
{
	if (op & XPOLL_ADD)
		return ctl_add(queue, op, events, fd, data);
	if (!events && !is_without_bits(queue, fd))
		return xp_change_delete(queue, fd, 0); /* no filter: fails with ENOENT or EBADF */
	if (op & XPOLL_DELETE)
		return ctl_delete(queue, events, fd);
	if (op & XPOLL_ENABLE)
		return xp_change_enable(queue, fd, ctl_filters(events), late);
	return xp_change_disable(queue, fd, ctl_filters(events));
}

static XP_NOINLINE int ctl_slow(struct xpoll *queue, int op, int events, int fd, void *data)
{
	struct xp_late late = {0};
	uint64_t syscalls;
	int rc = xp_enter_change(queue);

	if (XP_UNLIKELY(rc < 0))
		return xp_public_result(rc);
	if (!ctl_valid(op, events))
		return xp_leave_with(queue, -EINVAL);
	syscalls = xp_counter_read(&queue->counters.syscalls_change);
	rc = ctl(queue, op, events, fd, data, &late);
	xp_count_change(queue, rc, syscalls);
	return xp_leave_late(queue, rc, &late);
}

int xpoll_ctl(struct xpoll *queue, int op, int events, xpoll_fd_t descriptor, void *data)
{
	int fd = xp_fd_of(descriptor);

	if ((op != XPOLL_ENABLE && op != XPOLL_DISABLE) || events & ~POLL_EVENTS ||
	    (unsigned)events - 1 >= (POLLIN | POLLOUT | POLLPRI) || !xp_is_alone(queue))
		return ctl_slow(queue, op, events, fd, data);
	xp_lock_alone(queue);
	if (!xp_change_freely(queue, op, fd, ctl_filters(events))) {
		xp_unlock_alone(queue);
		return ctl_slow(queue, op, events, fd, data);
	}
	queue->stats.changes_free++;
	return xp_leave_with(queue, 0);
}

int xpoll_pwait(struct xpoll *queue, struct xpoll_ready *ready, int nready, int64_t timeout_ns,
                const void *sigset)
{
	return ready && nready > 0
		? xp_wait_call(queue, XP_READY, ready, nready, timeout_ns, sigset)
		: xp_public_result(-EINVAL);
}

int xpoll_wait(struct xpoll *queue, int timeout_ms)
{
	int64_t timeout_ns = timeout_ms < 0 ? -1 : timeout_ms * XP_NS_PER_MS;

	return xp_wait_call(queue, XP_BATCH, NULL, XP_FIRED_MOST, timeout_ns, NULL);
}

/*
 * The part of batch_take for records that need more: the slot was changed since xpoll_wait stored
 * the record; its filters have CLEAR, ONESHOT or DISPATCH; or some bits belong to disabled filters,
 * and have to be stored until these are enabled.  Continue with the next record if the registration
 * has ended or is disabled.
 */
static XP_NOINLINE int batch_take_slow(struct xpoll *queue, const struct xpoll_ready *found,
                                       void **datap)
{
	union xp_udata udata;
	uint32_t bits = xp_ready_take(queue, found, &udata);

	if (!bits) {
		xp_leave(queue);
		return xpoll_revents(queue, datap);
	}
	if (datap)
		*datap = udata.pointer;
	queue->stats.events++;
	return xp_leave_with(queue, (int)bits);
}

/*
 * Take the next record of the batch that has an enabled filter, and leave the queue.  Returns the
 * bits of poll(2); 0 at the end of the batch.
 */
static XP_INLINE int batch_take(struct xpoll *queue, void **datap)
{
	const struct xpoll_ready *found;
	struct xp_slot *slot;
	uint32_t bits;
	unsigned filters;
	int fd;

	if (xp_batch_is_over(queue))
		return xp_leave_with(queue, 0);
	found = xp_batch_next(queue);
	fd = xp_token_fd(found->data64);
	slot = xp_slots_get(queue, fd);
	bits = xp_enabled_bits(slot, (uint32_t)found->events);
	if (XP_UNLIKELY(slot->arming != xp_token_arming(found->data64) || !bits ||
	                slot->oneshot | slot->dispatch | slot->clear ||
	                found->events & (POLLPRI | POLLERR)))
		return batch_take_slow(queue, found, datap);
	filters = xp_enabled_filters_of(slot, bits);
	/* One record is for all filters of the descriptor: return the udata of the first one. */
	if (datap)
		*datap = slot->udata[XP_LOWEST_BIT(filters)].pointer;
	queue->stats.events++;
	xp_recheck_after_delivery(queue, fd, slot, filters);
	return xp_leave_with(queue, (int)bits);
}

/* The part of xpoll_revents for a process with other threads. */
static XP_NOINLINE int revents_multithreaded(struct xpoll *queue, void **datap)
{
	/*
	 * DISPATCH and ONESHOT may change entries that a sleeping thread is using, so enter the
	 * queue as for a change.
	 */
	int rc = xp_enter_change(queue);

	if (XP_LIKELY(rc == 0))
		return batch_take(queue, datap);
	(void)xp_public_result(rc);
	return 0; /* not -1: all bits of -1 are set, and the program would loop for ever */
}

int xpoll_revents(struct xpoll *queue, void **datap)
{
	if (!xp_is_alone(queue))
		return revents_multithreaded(queue, datap);
	/*
	 * With one event per wait every second call finds the end of the batch: return without
	 * entering the queue.
	 */
	if (xp_batch_is_over(queue))
		return 0;
	xp_lock_alone(queue);
	return batch_take(queue, datap);
}
