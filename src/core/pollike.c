/* The poll-like level: xpoll_ctl, xpoll_revents; xpoll_wait is in wait.c. */
#include "core/batch.h"

#include <errno.h>

#include "base/result.h"
#include "base/time.h"
#include "core/candidate.h"
#include "core/change.h"
#include "core/deliver.h"
#include "core/enter.h"
#include "core/interest.h"
#include "os/fdnum.h"
#include "os/sys.h"

#define POLL_EVENTS (POLLIN | POLLOUT | POLLPRI | XP_NAMED_RDHUP)

/* The filters that a report of these bits is about. */
static unsigned reported(const struct xp_slot *slot, uint32_t bits)
{
	unsigned enabled = slot->enabled;

	/* A single one needs no name. */
	if (XP_LIKELY(!(enabled & (enabled - 1))) ||
	    bits & (POLLERR | POLLHUP))
		return enabled;
	return xp_entry_filters(bits) & enabled;
}

static bool ctl_valid(int op, int events)
{
	if (!events || events & ~POLL_EVENTS)
		return false;
	if (op == XPOLL_ENABLE || op == XPOLL_DISABLE || op == XPOLL_DELETE)
		return true;
	op &= ~(XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH);
	return op == XPOLL_ADD || op == (XPOLL_ADD | XPOLL_DISABLE);
}

static int ctl_add(struct xpoll *queue, int op, int events, int fd, void *data)
{
	struct xp_interest add = {
		.filters = xp_entry_filters((uint32_t)events),
		.modes = op & (XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH),
		.requested = (events & POLLIN ? XP_REQUEST_IN : 0) |
			(events & POLLRDHUP ? XP_REQUEST_RDHUP : 0),
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
	unsigned filters = xp_entry_filters((uint32_t)events);
	unsigned requested = slot ? slot->requested & (XP_REQUEST_IN | XP_REQUEST_RDHUP) : 0;

	if (events & POLLIN)
		requested &= XP_REQUEST_RDHUP;
	if (events & POLLRDHUP)
		requested &= XP_REQUEST_IN;
	if (requested && filters & XP_BIT(XP_READ)) {
		int rc = requested_narrow(queue, fd, slot, requested);

		filters &= ~XP_BIT(XP_READ);
		/* A request went: others that are named need not be there. */
		if (rc < 0 || !(filters & slot->present))
			return rc;
	}
	return xp_change_delete(queue, fd, filters);
}

/* See xp_interest_free_change. */
static XP_INLINE bool ctl_free_change(struct xpoll *queue, int op, int events, int fd)
{
	/* By poll(2)'s oldest bits; of other changes, no filter. */
	static const uint8_t filters[(POLLIN | POLLOUT | POLLPRI) + 1] = {
		[POLLIN] = XP_BIT(XP_READ),
		[POLLOUT] = XP_BIT(XP_WRITE),
		[POLLPRI] = XP_BIT(XP_EXCEPT),
	};

	return (unsigned)events < sizeof filters &&
		xp_interest_free_change(queue, fd, filters[events], op == XPOLL_ENABLE);
}

static int ctl_change(struct xpoll *queue, int op, int events, int fd,
                      void *data)
{
	uint64_t before = xp_counter_read(&queue->counters.syscalls_change);
	int rc;

	if (op & XPOLL_ADD)
		rc = ctl_add(queue, op, events, fd, data);
	else if (op & XPOLL_DELETE)
		rc = ctl_delete(queue, events, fd);
	else if (op & XPOLL_ENABLE)
		rc = xp_change_enable(queue, fd, xp_entry_filters((uint32_t)events));
	else
		rc = xp_change_disable(queue, fd, xp_entry_filters((uint32_t)events));
	xp_change_counted(queue, rc, before);
	return rc;
}

/* Any change, any number of threads. */
static XP_NOINLINE int ctl(struct xpoll *queue, int op, int events, int fd,
                           void *data)
{
	int rc = queue && ctl_valid(op, events) ? xp_enter_change(queue) : -EINVAL;

	if (rc < 0)
		return xp_result(rc);
	if ((op != XPOLL_ENABLE && op != XPOLL_DISABLE) ||
	    !ctl_free_change(queue, op, events, fd))
		rc = ctl_change(queue, op, events, fd, data);
	xp_leave(queue);
	return xp_result(rc);
}

int xpoll_ctl(struct xpoll *queue, int op, int events, xpoll_fd_t descriptor,
              void *data)
{
	int fd = xp_fd_of(descriptor);

	if ((op == XPOLL_ENABLE || op == XPOLL_DISABLE) && queue &&
	    xp_enter_alone(queue)) {
		bool done = ctl_free_change(queue, op, events, fd);

		xp_mutex_unlock_alone(&queue->lock);
		if (XP_LIKELY(done))
			return 0;
	}
	return ctl(queue, op, events, fd, data);
}

/* The program has the entry now; its modes say more than that it is checked again. */
static XP_NOINLINE int hand_out_by_mode(struct xpoll *queue, const struct xp_ready *entry,
                                        unsigned filters, uint32_t bits)
{
	struct xp_slot *slot = entry->slot;
	int fd = xp_token_fd(entry->token);

	for (unsigned i = 0; i < XP_FD_FILTERS; i++)
		if (filters & XP_BIT(i) && slot->enabled & XP_BIT(i))
			xp_interest_handed(queue, fd, slot, i);
	xp_interest_rearm(queue, fd, slot);
	return xp_leave_with(queue, (int)bits);
}

/* Hand it out, and leave.  Without a call on the usual way it needs no stack frame. */
static XP_INLINE int hand_out(struct xpoll *queue, const struct xp_ready *entry,
                              uint32_t bits, void **datap, bool alone)
{
	struct xp_slot *slot = entry->slot;
	unsigned filters = reported(slot, bits);

	if (datap) /* That of the first of them. */
		*datap = slot->udata[XP_LOWEST_BIT(filters)].pointer;
	xp_count(&queue->counters.events);
	if (XP_UNLIKELY(slot->modes.any || slot->mode > XP_MODE_EDGE))
		return hand_out_by_mode(queue, entry, filters, bits);
	if (slot->mode == XP_MODE_EDGE)
		xp_recheck_level(queue, xp_token_fd(entry->token), slot, filters);
	return alone ? xp_leave_alone(queue, (int)bits) : xp_leave_with(queue, (int)bits);
}

/* The next entry that still stands, and leave; 0: there is none. */
static XP_INLINE int batch_next(struct xpoll *queue, void **datap, bool alone)
{
	while (queue->batch.next < queue->batch.len) {
		const struct xp_ready *entry = &queue->batch.ready[queue->batch.next++];
		const struct xp_slot *slot = xp_ready_slot(entry);
		uint32_t bits = slot ? xp_poll_bits(slot, entry->events) : 0;

		if (XP_LIKELY(bits))
			return hand_out(queue, entry, bits, datap, alone);
	}
	return xp_leave_with(queue, 0);
}

static XP_NOINLINE int revents(struct xpoll *queue, void **datap)
{
	int rc = queue ? xp_enter(queue) : -EINVAL;

	if (rc == 0)
		return batch_next(queue, datap, false);
	/* 0, not -1: that would be all bits, and a loop without end. */
	(void)xp_result(rc);
	return 0;
}

/* Every second call or so finds the end of the batch: that one is kept short. */
int xpoll_revents(struct xpoll *queue, void **datap)
{
	if (XP_UNLIKELY(!queue || !xp_enter_alone(queue)))
		return revents(queue, datap);
	if (queue->batch.next < queue->batch.len)
		return batch_next(queue, datap, true);
	xp_mutex_unlock_alone(&queue->lock);
	return 0;
}
