/* The poll-like level: xpoll_ctl, xpoll_wait, xpoll_revents. */
#include "core/pollike.h"

#include <errno.h>
#include <fcntl.h>

#include "base/time.h"
#include "core/candidate.h"
#include "core/deliver.h"
#include "core/interest.h"
#include "core/result.h"
#include "core/wait.h"
#include "os/sys.h"

#define POLL_EVENTS (POLLIN | POLLOUT | POLLPRI | POLLRDHUP)

static unsigned poll_filters(int events)
{
	unsigned filters = 0;

	if (events & (POLLIN | POLLRDHUP))
		filters |= XP_BIT(XP_READ);
	if (events & POLLOUT)
		filters |= XP_BIT(XP_WRITE);
	if (events & POLLPRI)
		filters |= XP_BIT(XP_EXCEPT);
	return filters;
}

uint32_t xp_poll_bits(const struct xp_slot *slot, uint32_t events)
{
	uint32_t mask = POLLERR | POLLHUP;

	if (!slot->enabled)
		return 0;
	if (slot->enabled & XP_BIT(XP_READ)) {
		if (slot->wishes & XP_WISH_IN)
			mask |= POLLIN;
		if (slot->wishes & XP_WISH_RDHUP)
			mask |= POLLRDHUP;
	}
	if (slot->enabled & XP_BIT(XP_WRITE))
		mask |= POLLOUT;
	if (slot->enabled & XP_BIT(XP_EXCEPT))
		mask |= POLLPRI;
	return events & mask;
}

/* The filters that a report of these bits is about. */
static unsigned reported(const struct xp_slot *slot, uint32_t bits)
{
	unsigned enabled = slot->enabled;

	if (bits & (POLLERR | POLLHUP))
		return enabled;
	return poll_filters((int)bits) & enabled;
}

void xp_poll_batch(struct xpoll *queue, struct xp_wait *wait, int fd,
                   struct xp_slot *slot, uint32_t events)
{
	if (xp_wait_full(wait)) {
		xp_candidate_carry(queue, fd, slot, slot->enabled, events);
		return;
	}
	queue->ready[wait->len++] = (struct xp_ready){
		.fd = fd,
		.generation = slot->generation,
		.events = events,
	};
}

/* The slot of an entry, if its registration still stands. */
static struct xp_slot *entry_slot(struct xpoll *queue,
                                  const struct xp_ready *entry)
{
	struct xp_slot *slot = xp_interest_find(queue, entry->fd);

	return slot && slot->generation == entry->generation ? slot : NULL;
}

void xp_poll_return_batch(struct xpoll *queue)
{
	for (; queue->batch_next < queue->batch_len; queue->batch_next++) {
		struct xp_ready *entry = &queue->ready[queue->batch_next];
		struct xp_slot *slot = entry_slot(queue, entry);

		/* Files are looked at by every wait. */
		if (slot && slot->mode != XP_MODE_FILE)
			xp_candidate_carry(queue, entry->fd, slot,
			                   slot->enabled, entry->events);
	}
	queue->batch_len = 0;
	queue->batch_next = 0;
}

static int ctl_check(int op, int events)
{
	int modes = XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH;
	int action = op & ~modes;

	if (!events || events & ~POLL_EVENTS)
		return -EINVAL;
	switch (action) {
	case XPOLL_ADD:
	case XPOLL_ADD | XPOLL_DISABLE:
		return 0;
	case XPOLL_DELETE:
	case XPOLL_ENABLE:
	case XPOLL_DISABLE:
		return op & modes ? -EINVAL : 0;
	default:
		return -EINVAL;
	}
}

static int ctl_add(struct xpoll *queue, int op, int events, int fd, void *data)
{
	struct xp_interest add = {
		.filters = poll_filters(events),
		.modes = op & (XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH),
		.wishes = (events & POLLIN ? XP_WISH_IN : 0) |
			(events & POLLRDHUP ? XP_WISH_RDHUP : 0),
		.enable = !(op & XPOLL_DISABLE),
		.disable = op & XPOLL_DISABLE,
		.udata = data,
	};

	return xp_interest_add(queue, fd, &add);
}

/* POLLIN and POLLRDHUP are two wishes of one filter. */
static int ctl_delete(struct xpoll *queue, int events, int fd)
{
	struct xp_slot *slot = xp_interest_find(queue, fd);
	unsigned filters = poll_filters(events);

	if (slot && slot->present & filters & XP_BIT(XP_READ)) {
		if (events & POLLIN)
			slot->wishes &= XP_WISH_RDHUP | XP_WISH_OOB;
		if (events & POLLRDHUP)
			slot->wishes &= XP_WISH_IN | XP_WISH_OOB;
		if (slot->wishes & (XP_WISH_IN | XP_WISH_RDHUP))
			filters &= ~XP_BIT(XP_READ);
		if (!filters)
			return 0;
	}
	return xp_interest_delete(queue, fd, filters);
}

int xpoll_ctl(struct xpoll *queue, int op, int events, int fd, void *data)
{
	int rc = queue ? ctl_check(op, events) : -EINVAL;
	uint64_t before;

	if (rc == 0)
		rc = xp_enter_change(queue);
	if (rc < 0)
		return xp_result(rc);
	before = xp_counter_read(&queue->counters.syscalls_change);
	if (op & XPOLL_ADD)
		rc = ctl_add(queue, op, events, fd, data);
	else if (op & XPOLL_DELETE)
		rc = ctl_delete(queue, events, fd);
	else if (op & XPOLL_ENABLE)
		rc = xp_interest_enable(queue, fd, poll_filters(events));
	else
		rc = xp_interest_disable(queue, fd, poll_filters(events));
	xp_count(&queue->counters.changes);
	if (rc < 0)
		xp_count(&queue->counters.change_errors);
	else if (xp_counter_read(&queue->counters.syscalls_change) == before)
		xp_count(&queue->counters.changes_free);
	xp_leave(queue);
	return xp_result(rc);
}

int xpoll_wait(struct xpoll *queue, int timeout_ms)
{
	struct xp_wait wait = {.cap = XP_BATCH_CAP};
	int rc = queue ? xp_enter(queue) : -EINVAL;

	if (rc < 0)
		return xp_result(rc);
	if (queue->polling) {
		xp_leave(queue);
		return xp_result(-EBUSY);
	}
	queue->polling = true;
	wait.deadline_ns = timeout_ms < 0 ? XP_NEVER : timeout_ms == 0 ? XP_NOW
		: xp_deadline(xp_sys_now(), timeout_ms * XP_NS_PER_MS);
	rc = xp_wait_run(queue, &wait);
	queue->polling = false;
	queue->batch_len = wait.len;
	queue->batch_next = 0;
	xp_leave(queue);
	return xp_result(rc < 0 ? rc : wait.len);
}

/* The data of the first of these filters. */
static void *first_udata(const struct xp_slot *slot, unsigned filters)
{
	for (int i = 0; i < XP_FD_FILTERS; i++)
		if (filters & XP_BIT(i))
			return slot->udata[i];
	return NULL;
}

static void hand_out(struct xpoll *queue, int fd, struct xp_slot *slot,
                     unsigned filters)
{
	for (unsigned i = 0; i < XP_FD_FILTERS; i++)
		if (filters & XP_BIT(i) && slot->enabled & XP_BIT(i))
			xp_deliver_handed(queue, fd, slot, i);
	xp_deliver_rearm(queue, fd, slot);
	xp_count(&queue->counters.events);
}

int xpoll_revents(struct xpoll *queue, void **datap)
{
	uint32_t bits = 0;
	int rc = queue ? xp_enter(queue) : -EINVAL;

	if (rc < 0) {
		/* 0, not -1: that would be all bits, and a loop without end. */
		(void)xp_result(rc);
		return 0;
	}
	while (!bits && queue->batch_next < queue->batch_len) {
		struct xp_ready *entry = &queue->ready[queue->batch_next++];
		struct xp_slot *slot = entry_slot(queue, entry);
		unsigned filters;

		if (slot)
			bits = xp_poll_bits(slot, entry->events);
		if (!bits)
			continue;
		filters = reported(slot, bits);
		if (datap)
			*datap = first_udata(slot, filters);
		hand_out(queue, entry->fd, slot, filters);
	}
	xp_leave(queue);
	return (int)bits;
}
