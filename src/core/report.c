/* From a report to a record. */
#include "core/report.h"

#include "base/assert.h"
#include "core/ask.h"
#include "core/candidates.h"
#include "core/changes.h"
#include "core/count.h"
#include "core/entry.h"
#include "core/lowat.h"
#include "core/source_fd.h"
#include "sys/fdnum.h"
#include "sys/sys.h"

/* ORed to the bits of a listener of TCP's that was shut down. */
#define EVENT_ABORTED 0x40000u

/* --- What a delivery leaves behind ------------------------------------------------ */

void xp_handed_by_mode(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters)
{
	for (; filters & slot->enabled; filters &= filters - 1) {
		unsigned i = XP_LOWEST_BIT(filters);

		if (!(slot->enabled & XP_BIT(i)))
			continue;
		if ((slot->oneshot | slot->dispatch) & XP_BIT(i))
			xp_change_delivered(queue, fd, slot, i);
		else
			xp_handed(queue, fd, slot, XP_BIT(i));
	}
}

/*
 * Returns true if this call has delivered something of the slot; or, beside something else, if
 * the call that did was one of 2^32 calls ago, which had the same number.
 */
static inline bool is_delivered(const struct xp_wait *wait, const struct xp_slot *slot)
{
	return slot->epoch == wait->epoch && wait->len > 0;
}

/* --- The event level --------------------------------------------------------------- */

/*
 * The bits without those that an unconnected stream socket has all the time: POLLOUT and
 * POLLHUP.  One that was connected is at its end of file as well.  TCP makes an unconnected
 * socket of a listener that is shut down, which has to see that no connection will come.
 */
static XP_NOINLINE uint32_t without_unconnected(struct xpoll *queue, int fd,
                                                struct xp_slot *slot, uint32_t events)
{
	struct pollfd probe = {.fd = fd, .events = POLLIN | POLLRDHUP};
	int rc;

	if (events & (POLLIN | POLLRDHUP) || xp_slot_kind(fd, slot) != XP_KIND_SOCKET)
		return events;
	xp_count_by(&queue->counters.syscalls_check, 2);
	rc = xp_sys_poll_now(&probe, 1);
	if (rc > 0 && probe.revents & (POLLIN | POLLRDHUP))
		return events;
	if (slot->enabled & XP_BIT(XP_READ) && xp_sys_was_listener(fd))
		return POLLIN | POLLRDHUP | EVENT_ABORTED;
	/* No memory: the kernel reports a level again, and an edge not. */
	if (rc < 0 && slot->mode != XP_MODE_LEVEL)
		return events;
	return events & ~(uint32_t)(POLLHUP | POLLOUT);
}

static bool is_eof(int fd, struct xp_slot *slot, unsigned filter, uint32_t events)
{
	if (filter == XP_EXCEPT)
		return false;
	if (events & POLLHUP || (filter == XP_READ && events & POLLRDHUP))
		return true;
	/* An error alone: a pipe has no reader. */
	return events & POLLERR && xp_slot_kind(fd, slot) == XP_KIND_FIFO;
}

/* Store the event of one filter. */
static void event_store(struct xpoll *queue, struct xp_wait *wait, int fd, struct xp_slot *slot,
                        unsigned filter, uint32_t events)
{
	static const int16_t names[XP_FD_FILTERS] = {
		[XP_READ] = XPOLL_FILT_READ,
		[XP_WRITE] = XPOLL_FILT_WRITE,
		[XP_EXCEPT] = XPOLL_FILT_EXCEPT,
	};
	struct xpoll_event *event = wait->events + wait->len;
	unsigned bit = XP_BIT(filter);

	XP_ASSERT(slot->enabled & bit);
	xp_record_add(wait);
	event->ident = xp_fd_ident(fd);
	event->filter = names[filter];
	event->flags = 0;
	event->fflags = filter == XP_EXCEPT ? XPOLL_NOTE_OOB : 0;
	event->data = 1;
	event->udata64 = slot->udata[filter].bits;
	slot->delivered |= bit & XP_ALL_FILTERS;
	if (XP_UNLIKELY(events & (POLLHUP | POLLERR | POLLRDHUP)) &&
	    is_eof(fd, slot, filter, events))
		event->flags = XPOLL_EOF;
	if (XP_UNLIKELY(queue->report_modes))
		event->flags |= (uint16_t)((slot->clear & bit ? XPOLL_CLEAR : 0u) |
		                           (slot->oneshot & bit ? XPOLL_ONESHOT : 0u) |
		                           (slot->dispatch & bit ? XPOLL_DISPATCH : 0u));
	if (XP_UNLIKELY((slot->count | slot->soerr) & bit))
		xp_event_count(queue, fd, slot, event, wait->len > 1, events & EVENT_ABORTED);
	xp_handed(queue, fd, slot, bit);
}

/* Store the events of these filters, the one first that found no room the last time. */
static void events_store(struct xpoll *queue, struct xp_wait *wait, int fd, struct xp_slot *slot,
                         uint32_t events, unsigned filters)
{
	unsigned left = 0, first = slot->first;

	slot->first = 0;
	/* An event may disable the others. */
	while ((filters &= slot->enabled)) {
		unsigned later = filters & ~0u << first;
		unsigned filter = XP_LOWEST_BIT(later ? later : filters);

		filters &= ~XP_BIT(filter);
		if (!xp_wait_is_full(wait)) {
			event_store(queue, wait, fd, slot, filter, events);
			continue;
		}
		if (!left)
			slot->first = filter & 3;
		left |= XP_BIT(filter);
	}
	if (XP_UNLIKELY(left)) {
		xp_ask_crowded(queue);
		xp_postpone(queue, fd, slot, left, events);
	}
}

/*
 * This call has delivered these filters already.  But the edge was perhaps the last one of
 * a level: check that.
 */
static XP_NOINLINE void recheck_delivered(struct xpoll *queue, struct xp_wait *wait, int fd,
                         struct xp_slot *slot, unsigned filters)
{
	wait->repeated |= filters != 0;
	if (slot->mode != XP_MODE_ONCE) {
		filters &= ~xp_slot_by_edge(slot);
		filters &= slot->mode == XP_MODE_EDGE ? XP_ALL_FILTERS : slot->solo;
	}
	if (filters)
		xp_check_again(queue, fd, slot, filters);
}

static XP_NOINLINE void deliver_events(struct xpoll *queue, struct xp_wait *wait, int fd,
                           struct xp_slot *slot, uint32_t events, unsigned about)
{
	uint32_t reported = XP_UNLIKELY(events & POLLHUP)
		? without_unconnected(queue, fd, slot, events) : events;
	unsigned wanted = slot->enabled & about, filters;

	/* The end alone is waited for, and some kernels report the data before it as well. */
	if (XP_UNLIKELY(!(slot->requested & XP_REQUEST_IN)) &&
	    !(reported & (POLLRDHUP | POLLHUP | POLLERR)))
		reported &= ~(uint32_t)POLLIN;
	filters = wanted & (xp_filters_of(reported) |
		(reported & (POLLHUP | POLLERR) ? XP_BIT(XP_READ) | XP_BIT(XP_WRITE) : 0));
	/* This level ignores a hang-up that the poll-like level has to report. */
	if (XP_UNLIKELY(events & (POLLHUP | POLLERR)) && filters != wanted)
		xp_withhold(queue, slot);
	if (XP_UNLIKELY(slot->present != slot->enabled) &&
	    (!filters || events & (POLLPRI | POLLERR)))
		xp_news_missed(queue, fd, slot, events);
	if (XP_UNLIKELY(!filters)) {
		xp_entry_fruitless(queue, fd, slot, about);
		return;
	}
	if (is_delivered(wait, slot)) {
		recheck_delivered(queue, wait, fd, slot, filters & slot->delivered);
		filters &= ~(unsigned)slot->delivered;
		if (!filters)
			return;
	} else if (!xp_wait_is_full(wait)) {
		slot->epoch = wait->epoch;
		slot->delivered = 0;
	}
	slot->fruitless = 0;
	wait->delivered_some = true;
	events_store(queue, wait, fd, slot, reported, filters);
}

/* --- The poll-like level ------------------------------------------------------------ */

/* A record in the caller's array. */
static XP_NOINLINE void ready_store(struct xpoll *queue, struct xp_wait *wait, int fd,
                                    struct xp_slot *slot, uint32_t events)
{
	uint32_t bits = xp_poll_bits(slot, events);
	unsigned filters = xp_poll_filters(slot, bits);

	XP_ASSERT(filters && wait->len < wait->cap);
	slot->delivered = filters & XP_ALL_FILTERS;
	wait->ready[wait->len++] = (struct xpoll_ready){
		.data64 = slot->udata[XP_LOWEST_BIT(filters)].bits,
		.fd = (xpoll_fd_t)xp_fd_ident(fd),
		.events = (int)bits,
	};
	xp_news_left(queue, fd, slot, events);
	xp_handed(queue, fd, slot, filters);
}

/* A record in the batch, for xpoll_revents. */
static void batch_store(struct xp_wait *wait, int fd, struct xp_slot *slot, uint32_t events)
{
	XP_ASSERT(wait->len < wait->cap);
	wait->found[wait->len++] = (struct xp_found){
		.token = xp_slot_token(slot, fd),
		.events = events,
	};
}

/* The descriptor has a record already, to which what else was found is added. */
static void ready_add(struct xpoll *queue, struct xp_wait *wait, int fd, struct xp_slot *slot,
                      uint32_t events)
{
	uint32_t bits = xp_poll_bits(slot, events);
	unsigned filters = xp_poll_filters(slot, bits);
	bool is_first;
	int i = 0;

	while (i < wait->len && fd != (wait->format == XP_BATCH
		? xp_token_fd(wait->found[i].token) : xp_fd_of(wait->ready[i].fd)))
		i++;
	if (XP_UNLIKELY(i == wait->len)) { /* the next call has another number */
		xp_postpone(queue, fd, slot, filters, events);
		return;
	}
	if (wait->format == XP_BATCH)
		slot->delivered = XP_ALL_FILTERS &
			xp_poll_filters(slot, xp_poll_bits(slot, wait->found[i].events));
	recheck_delivered(queue, wait, fd, slot, filters & slot->delivered);
	if (!(filters & ~(unsigned)slot->delivered) && !(bits & (POLLERR | POLLHUP | POLLRDHUP)))
		return;
	if (wait->format == XP_BATCH) {
		wait->found[i].events |= events;
		return;
	}
	is_first = XP_LOWEST_BIT(filters) < XP_LOWEST_BIT(slot->delivered);
	slot->delivered |= filters & XP_ALL_FILTERS;
	wait->ready[i].events |= (int)bits;
	if (is_first)
		wait->ready[i].data64 = slot->udata[XP_LOWEST_BIT(filters)].bits;
	xp_news_left(queue, fd, slot, events);
	xp_handed(queue, fd, slot, filters);
}

/* Nothing of these bits is enabled, they were delivered before, or there is no room. */
static XP_NOINLINE void deliver_rarely(struct xpoll *queue, struct xp_wait *wait, int fd,
                                     struct xp_slot *slot, uint32_t events, unsigned about)
{
	if (!xp_poll_bits(slot, events)) {
		xp_news_missed(queue, fd, slot, events);
		xp_entry_fruitless(queue, fd, slot, about);
	} else if (is_delivered(wait, slot)) {
		ready_add(queue, wait, fd, slot, events);
	} else {
		wait->delivered_some = true;
		xp_postpone(queue, fd, slot, slot->enabled & about, events);
	}
}

static void deliver_ready(struct xpoll *queue, struct xp_wait *wait, int fd,
                          struct xp_slot *slot, uint32_t events, unsigned about)
{
	/* The report says nothing of filters with another entry. */
	if (XP_UNLIKELY(slot->present & ~about))
		events &= xp_bits_of(slot, about) | POLLHUP | POLLERR;
	if (XP_UNLIKELY(!xp_poll_bits(slot, events) || is_delivered(wait, slot) ||
	                xp_wait_is_full(wait))) {
		deliver_rarely(queue, wait, fd, slot, events, about);
		return;
	}
	slot->epoch = wait->epoch;
	slot->fruitless = 0;
	wait->delivered_some = true;
	if (wait->format == XP_BATCH)
		batch_store(wait, fd, slot, events);
	else
		ready_store(queue, wait, fd, slot, events);
}

void xp_deliver(struct xpoll *queue, struct xp_wait *wait, int fd, struct xp_slot *slot,
                uint32_t events, unsigned about)
{
	if (wait->format == XP_EVENTS)
		deliver_events(queue, wait, fd, slot, events, about);
	else
		deliver_ready(queue, wait, fd, slot, events, about);
}

/* --- Reports of the kernel ----------------------------------------------------------- */

/* No registration of the program has this token: a source's, or one that has ended. */
static XP_NOINLINE void report_without_registration(struct xpoll *queue, struct xp_wait *wait,
                                                    uint64_t token)
{
	struct xp_slot *slot = xp_slots_get(queue, xp_token_fd(token));

	if (xp_source_fd_fired(queue, wait, token)) {
		wait->delivered_some = true;
		return;
	}
	/* The entry of a file that is open as a duplicate; or a race between threads. */
	xp_count(&queue->counters.stale_dropped);
	if (wait->set != (uint32_t)queue->counters.rebuilds ||
	    slot->stale++ < XP_FRUITLESS_MOST - 1)
		return;
	slot->stale = 0;
	wait->renew = true;
}

/*
 * Filters were enabled after this thread fetched the report, and another thread has perhaps
 * delivered the same before: check it.  The kernel reports a level once more.
 */
static XP_NOINLINE void report_outdated(struct xpoll *queue, struct xp_wait *wait, int fd,
                            struct xp_slot *slot, uint32_t events, unsigned about)
{
	unsigned filters = slot->enabled & about &
		(events & (POLLHUP | POLLERR) ? XP_ALL_FILTERS : xp_filters_of(events));

	wait->more = true;
	if (xp_has_news(queue, slot))
		xp_news_keep(slot, events);
	if (filters && (slot->mode != XP_MODE_LEVEL || filters & slot->solo))
		xp_check_again(queue, fd, slot, filters);
}

/*
 * Returns true if the report is of an earlier arming of the main entry, and there is nothing to
 * do: the change made the kernel check the state again.
 */
static bool report_is_superseded(struct xpoll *queue, struct xp_wait *wait,
                                 struct xp_slot *slot, uint64_t token)
{
	if (XP_LIKELY(slot->arming == xp_token_arming(token))) {
		/* Before anything may arm it again. */
		if (slot->mode == XP_MODE_ONCE)
			slot->armed &= slot->solo;
		return false;
	}
	/* The news that this report has consumed does not come again. */
	if (xp_has_news(queue, slot))
		return false;
	wait->more = true;
	return true;
}

/* An exclusive entry does not report POLLRDHUP. */
static XP_NOINLINE uint32_t half_close(struct xpoll *queue, int fd, struct xp_slot *slot,
                                       uint32_t events)
{
	struct pollfd probe = {.fd = fd, .events = POLLRDHUP};

	if (!(events & POLLIN) || xp_slot_kind(fd, slot) != XP_KIND_SOCKET)
		return 0;
	xp_count(&queue->counters.syscalls_check);
	return xp_sys_poll_now(&probe, 1) > 0 ? (unsigned short)probe.revents & POLLRDHUP : 0;
}

/* A report that is not as usual. */
static XP_NOINLINE void report_other(struct xpoll *queue, struct xp_wait *wait,
                                     const struct xp_fired *fired)
{
	int fd = xp_token_fd(fired->token);
	struct xp_slot *slot = xp_slots_get(queue, fd);
	uint32_t events = fired->events & ~XP_FIRED_SOLO_ANY;
	unsigned about = XP_ALL_FILTERS & (fired->events & XP_FIRED_SOLO_ANY
		? fired->events / XP_FIRED_SOLO(0) : ~(unsigned)slot->solo);

	if (XP_UNLIKELY(!slot->present || !xp_slot_is_of(slot, fired->token))) {
		report_without_registration(queue, wait, fired->token);
	} else if (XP_UNLIKELY(events & POLLNVAL)) {
		/* select(2) reports nothing else beside a closed number: ask again. */
		wait->more = true;
		xp_entry_drop(queue, fd, slot);
	} else if (!(fired->events & XP_FIRED_SOLO_ANY) &&
	           report_is_superseded(queue, wait, slot, fired->token)) {
		return;
	} else if (XP_UNLIKELY(slot->marked && queue->sequence - slot->sequence <
	                       queue->sequence - wait->sequence)) {
		report_outdated(queue, wait, fd, slot, events, about);
	} else if (xp_entry_confirmed(queue, fd, slot)) {
		if (XP_UNLIKELY(slot->is_exclusive))
			events |= half_close(queue, fd, slot, events);
		events = xp_lowat_reached(queue, fd, slot, events);
		if (events)
			xp_deliver(queue, wait, fd, slot, events, about);
	}
}

void xp_report(struct xpoll *queue, struct xp_wait *wait, const struct xp_fired *fired)
{
	int fd = xp_token_fd(fired->token);
	struct xp_slot *slot;

	if (XP_UNLIKELY(fired->token == XP_TOKEN_WAKE)) {
		wait->more |= (fired->events & XP_FIRED_MORE) != 0;
		return;
	}
	slot = xp_slots_get(queue, fd);
	/* Any other report is of the main entry as it is now, and is delivered at once. */
	if (XP_UNLIKELY(!slot->present || slot->arming != xp_token_arming(fired->token) ||
	                fired->events & (XP_FIRED_SOLO_ANY | POLLNVAL) || slot->solo ||
	                slot->lowat || slot->is_exclusive || slot->marked ||
	                slot->mode == XP_MODE_ONCE || slot->reports == 63)) {
		report_other(queue, wait, fired);
	} else {
		slot->reports++;
		xp_deliver(queue, wait, fd, slot, fired->events, XP_ALL_FILTERS);
	}
}
