/* The poll-like level: xpoll_ctl, xpoll_revents; xpoll_wait is in wait.c. */
#include "core/pollike.h"

#include <errno.h>

#include "base/time.h"
#include "core/candidate.h"
#include "core/deliver.h"
#include "core/interest.h"
#include "core/result.h"
#include "os/fdnum.h"
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

/* The bits that poll(2) would report, by enabled | wishes << 3. */
#define POLL_MASK(i) \
	(((i) & 7 ? POLLERR | POLLHUP : 0) | \
	 ((i) & 1 && (i) >> 3 & XP_WISH_IN ? POLLIN : 0) | \
	 ((i) & 1 && (i) >> 3 & XP_WISH_RDHUP ? POLLRDHUP : 0) | \
	 ((i) & 2 ? POLLOUT : 0) | ((i) & 4 ? POLLPRI : 0))
#define POLL_MASKS_4(i) \
	POLL_MASK(i), POLL_MASK((i) + 1), POLL_MASK((i) + 2), POLL_MASK((i) + 3)

static const uint16_t poll_masks[32] = {
	POLL_MASKS_4(0), POLL_MASKS_4(4), POLL_MASKS_4(8), POLL_MASKS_4(12),
	POLL_MASKS_4(16), POLL_MASKS_4(20), POLL_MASKS_4(24), POLL_MASKS_4(28),
};

_Static_assert(XP_BIT(XP_READ) == 1 && XP_BIT(XP_WRITE) == 2 &&
               XP_BIT(XP_EXCEPT) == 4 && XP_WISH_IN == 1 && XP_WISH_RDHUP == 2,
               "the index of the table");

/* What of these bits poll(2) would report for what is enabled. */
static XP_INLINE uint32_t poll_bits(const struct xp_slot *slot, uint32_t events)
{
	unsigned wishes = slot->wishes & (XP_WISH_IN | XP_WISH_RDHUP);

	return events & poll_masks[slot->enabled | wishes << 3];
}

/* The filters that a report of these bits is about. */
static unsigned reported(const struct xp_slot *slot, uint32_t bits)
{
	unsigned enabled = slot->enabled;

	/* A single one needs no telling apart. */
	if (XP_LIKELY(!(enabled & (enabled - 1))) ||
	    bits & (POLLERR | POLLHUP))
		return enabled;
	return poll_filters((int)bits) & enabled;
}

/* It is in the batch already: what else fired of it comes with the same entry. */
static XP_APART void poll_deliver_more(struct xpoll *queue,
                                       struct xp_wait *wait, int fd,
                                       struct xp_slot *slot, uint32_t events)
{
	bool single = !(slot->enabled & (slot->enabled - 1u));
	bool known = single && !(events & (POLLERR | POLLHUP | POLLRDHUP));

	for (int i = 0; i < wait->len && !known; i++) {
		known = queue->ready[i].fd == fd;
		if (known)
			queue->ready[i].events |= events;
	}
	if (slot->mode != XP_MODE_LAZY)
		xp_deliver_outdated(queue, fd, slot, slot->enabled);
}

void xp_poll_deliver(struct xpoll *queue, struct xp_wait *wait, int fd,
                     struct xp_slot *slot, uint32_t events)
{
	if (XP_UNLIKELY(!poll_bits(slot, events))) {
		xp_interest_fruitless(queue, fd, slot, wait->passed_over);
	} else if (XP_UNLIKELY(slot->batch == wait->batch)) {
		poll_deliver_more(queue, wait, fd, slot, events);
	} else if (XP_UNLIKELY(xp_wait_full(wait))) {
		slot->fruitless = 0;
		slot->spent = 1;
		wait->news = true;
		xp_candidate_carry(queue, fd, slot, slot->enabled, events);
	} else {
		slot->fruitless = 0;
		if (XP_UNLIKELY(slot->edge))
			slot->spent = 1;
		wait->news = true;
		slot->batch = wait->batch;
		queue->ready[wait->len++] = (struct xp_ready){
			.slot = slot,
			.fd = fd,
			.generation = slot->generation,
			.events = events,
		};
	}
}

/* The slot of an entry, if its registration still stands. */
static struct xp_slot *entry_slot(const struct xp_ready *entry)
{
	struct xp_slot *slot = entry->slot;

	return slot->generation == entry->generation ? slot : NULL;
}

void xp_poll_return_batch(struct xpoll *queue)
{
	int served = queue->candidates_len;

	for (; queue->batch_next < queue->batch_len; queue->batch_next++) {
		struct xp_ready *entry = &queue->ready[queue->batch_next];
		struct xp_slot *slot = entry_slot(entry);

		/* Files are looked at by every wait. */
		if (slot && slot->mode != XP_MODE_FILE)
			xp_candidate_carry(queue, entry->fd, slot,
			                   slot->enabled, entry->events);
	}
	xp_candidates_served(queue, served);
	queue->batch_len = 0;
	queue->batch_next = 0;
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
		.filters = poll_filters(events),
		.modes = op & (XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH),
		.wishes = (events & POLLIN ? XP_WISH_IN : 0) |
			(events & POLLRDHUP ? XP_WISH_RDHUP : 0),
		.enable = !(op & XPOLL_DISABLE),
		.disable = op & XPOLL_DISABLE,
		.udata = xp_udata_pointer(data),
	};

	return xp_interest_add(queue, fd, &add);
}

/*
 * POLLIN and POLLRDHUP are two wishes of one filter.  What the kernel reports
 * beyond them nobody filters, so where it cannot be told they stay.
 */
static int wishes_narrow(struct xpoll *queue, int fd, struct xp_slot *slot,
                         unsigned wishes)
{
	unsigned before = slot->wishes;
	int rc;

	slot->wishes = (wishes | (before & XP_WISH_OOB)) & 7;
	rc = xp_interest_narrowed(queue, fd, slot, XP_BIT(XP_READ));
	if (xp_is_lack(rc))
		slot->wishes = before & 7;
	return rc;
}

static int ctl_delete(struct xpoll *queue, int events, int fd)
{
	struct xp_slot *slot = xp_interest_find(queue, fd);
	unsigned filters = poll_filters(events);
	unsigned wishes = slot ? slot->wishes & (XP_WISH_IN | XP_WISH_RDHUP) : 0;

	if (events & POLLIN)
		wishes &= XP_WISH_RDHUP;
	if (events & POLLRDHUP)
		wishes &= XP_WISH_IN;
	if (wishes && filters & XP_BIT(XP_READ)) {
		int rc = wishes_narrow(queue, fd, slot, wishes);

		filters &= ~XP_BIT(XP_READ);
		/* A wish went: others that are named need not be there. */
		if (rc < 0 || !(filters & slot->present))
			return rc;
	}
	return xp_interest_delete(queue, fd, filters);
}

/* See xp_interest_mark. */
static XP_INLINE bool ctl_mark(struct xpoll *queue, int op, int events, int fd)
{
	unsigned filters = poll_filters(events);

	if (!filters || events & ~POLL_EVENTS || fd < 0)
		return false;
	return xp_interest_mark(queue, fd, filters, op == XPOLL_ENABLE);
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
		rc = xp_interest_enable(queue, fd, poll_filters(events));
	else
		rc = xp_interest_disable(queue, fd, poll_filters(events));
	xp_count(&queue->counters.changes);
	if (rc < 0)
		xp_count(&queue->counters.change_errors);
	else if (xp_counter_read(&queue->counters.syscalls_change) == before)
		xp_count(&queue->counters.changes_free);
	return rc;
}

/* Any change, any number of threads. */
static XP_APART int ctl(struct xpoll *queue, int op, int events, int fd,
                        void *data)
{
	int rc = queue && ctl_valid(op, events) ? xp_enter_change(queue) : -EINVAL;

	if (rc < 0)
		return xp_result(rc);
	if ((op != XPOLL_ENABLE && op != XPOLL_DISABLE) ||
	    !ctl_mark(queue, op, events, fd))
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
		bool done = ctl_mark(queue, op, events, fd);

		xp_mutex_unlock_alone(&queue->lock);
		if (XP_LIKELY(done))
			return 0;
	}
	return ctl(queue, op, events, fd, data);
}

/* The program has the entry now; do as its modes say. */
static XP_INLINE void hand_out(struct xpoll *queue, int fd, struct xp_slot *slot,
                     unsigned filters)
{
	unsigned level = filters & ~(unsigned)slot->edge;

	xp_count(&queue->counters.events);
	if (XP_LIKELY(!(filters & (slot->once | slot->turn)))) {
		if (slot->mode == XP_MODE_LAZY && level)
			xp_candidate_delivered(queue, fd, slot, level);
	} else {
		for (unsigned i = 0; i < XP_FD_FILTERS; i++)
			if (filters & XP_BIT(i) && slot->enabled & XP_BIT(i))
				xp_deliver_handed(queue, fd, slot, i);
	}
	xp_deliver_rearm(queue, fd, slot);
}

/* Take the next entry; the bits of its descriptor, 0: it is outdated. */
static XP_INLINE uint32_t entry_take(struct xpoll *queue, void **datap)
{
	struct xp_ready *entry = &queue->ready[queue->batch_next++];
	struct xp_slot *slot = entry_slot(entry);
	uint32_t bits = slot ? poll_bits(slot, entry->events) : 0;
	unsigned filters;

	if (!bits)
		return 0;
	filters = reported(slot, bits);
	if (datap) /* That of the first of them. */
		*datap = slot->udata[filters & 1 ? 0 : filters & 2 ? 1 : 2].pointer;
	hand_out(queue, entry->fd, slot, filters);
	return bits;
}

/* The next entry that still stands; 0: there is none. */
static XP_INLINE uint32_t batch_next(struct xpoll *queue, void **datap)
{
	uint32_t bits = 0;

	while (!bits && queue->batch_next < queue->batch_len)
		bits = entry_take(queue, datap);
	return bits;
}

static XP_APART int revents(struct xpoll *queue, void **datap)
{
	uint32_t bits;
	int rc = queue ? xp_enter(queue) : -EINVAL;

	if (rc < 0) {
		/* 0, not -1: that would be all bits, and a loop without end. */
		(void)xp_result(rc);
		return 0;
	}
	bits = batch_next(queue, datap);
	xp_leave(queue);
	return (int)bits;
}

static XP_APART int revents_alone(struct xpoll *queue, void **datap)
{
	uint32_t bits = batch_next(queue, datap);

	xp_leave(queue);
	return (int)bits;
}

/* Every second call or so finds the end of the batch: that one is kept short. */
int xpoll_revents(struct xpoll *queue, void **datap)
{
	if (XP_UNLIKELY(!queue || !xp_enter_alone(queue)))
		return revents(queue, datap);
	if (queue->batch_next < queue->batch_len)
		return revents_alone(queue, datap);
	xp_mutex_unlock_alone(&queue->lock);
	return 0;
}
