/* Turns reports of the kernel, and results of checks, into records of a wait. */
#include "core/report.h"

#include "core/count.h"
#include "core/entry.h"
#include "sys/fdnum.h"

/* A flag in a set of poll(2) bits: the descriptor is a TCP listener that was shut down. */
#define EVENT_LISTENER_SHUT 0x40000u

/*
 * Returns true if this wait has delivered a filter of the slot.  If the slot was delivered last by
 * the wait 2^32 calls ago, the result is true by mistake once this wait has another record.
 */
static inline bool is_delivered(const struct xp_wait *wait, const struct xp_slot *slot)
{
	return slot->epoch == wait->epoch && wait->len > 0;
}

/* --- The event level: xpoll_event ------------------------------------------------------ */

/*
 * Returns the bits without POLLOUT and POLLHUP if the descriptor is an unconnected stream socket,
 * which has these bits all the time.  A socket that was connected also has POLLIN or POLLRDHUP, its
 * end of file, and keeps all bits.  A TCP listener that was shut down looks like an unconnected
 * socket; it gets an end of file, because no connection will come.
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
		return POLLIN | POLLRDHUP | EVENT_LISTENER_SHUT;
	/*
	 * poll(2) failed for lack of memory.  Keep the bits if the entry is not level-triggered,
	 * because the kernel would not report them again.
	 */
	if (rc < 0 && slot->mode != XP_MODE_LEVEL)
		return events;
	return events & ~(uint32_t)(POLLHUP | POLLOUT);
}

/* Returns true if the event of this filter gets XPOLL_EOF. */
static bool is_eof(int fd, struct xp_slot *slot, unsigned filter, uint32_t events)
{
	/* POLLERR on a pipe means that the pipe has no reader, which is an end of file. */
	return filter != XP_EXCEPT &&
		(events & POLLHUP || (filter == XP_READ && events & POLLRDHUP) ||
		 (events & POLLERR && xp_slot_kind(fd, slot) == XP_KIND_FIFO));
}

/* Store the event of one filter in the array of the wait, and apply the modes of the filter. */
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
	if (XP_UNLIKELY((slot->count_filters | slot->so_error) & bit))
		xp_event_count(queue, fd, slot, event, wait->len > 1, events & EVENT_LISTENER_SHUT);
	xp_finish_delivery(queue, fd, slot, bit);
}

/*
 * Store the events of these filters, beginning with the filter that found no room the last time.
 * The filters without room are left to the next wait.
 */
static void events_store(struct xpoll *queue, struct xp_wait *wait, int fd, struct xp_slot *slot,
                         uint32_t events, unsigned filters)
{
	unsigned left = 0, first = slot->resume_filter;

	slot->resume_filter = 0;
	/* A delivery may disable other filters (XPOLL_WHOLE), so test `enabled` each time. */
	while ((filters &= slot->enabled)) {
		unsigned later = filters & ~0u << first;
		unsigned filter = XP_LOWEST_BIT(later ? later : filters);

		filters &= ~XP_BIT(filter);
		if (!xp_wait_is_full(wait)) {
			event_store(queue, wait, fd, slot, filter, events);
			continue;
		}
		if (!left)
			slot->resume_filter = filter & 3;
		left |= XP_BIT(filter);
	}
	if (XP_UNLIKELY(left)) {
		xp_ask_half_room(queue);
		xp_defer_delivery(queue, fd, slot, left, events);
	}
}

/*
 * Called if the kernel reports filters that this wait has delivered already: has the next wait
 * check those whose readiness the kernel may not report again.
 */
static XP_NOINLINE void recheck_delivered(struct xpoll *queue, struct xp_wait *wait, int fd,
                         struct xp_slot *slot, uint32_t events, unsigned filters)
{
	wait->has_repeats |= filters != 0;
	/*
	 * This report has cleared the file's bits in the kernel (XP_KIND_CLEARED), so no later
	 * report has them: deliver them in the next wait.  Not on a lazy queue (epoll), where the
	 * event that this wait has delivered covers them; nor with a back end without
	 * XP_CAP_CONCURRENT (poll, select), which keeps such bits itself.
	 */
	if (filters && slot->kind == XP_KIND_CLEARED && !xp_poll_clears(queue, slot) &&
	    queue->ops->caps & XP_CAP_CONCURRENT)
		xp_defer_delivery(queue, fd, slot, filters, events);
	if (slot->mode != XP_MODE_ONCE) {
		filters &= ~xp_slot_edge_filters(slot);
		filters &= slot->mode == XP_MODE_EDGE ? XP_ALL_FILTERS : slot->solo;
	}
	if (filters)
		xp_candidate_add_delivered(queue, fd, slot, filters);
}

static XP_NOINLINE void deliver_events(struct xpoll *queue, struct xp_wait *wait, int fd,
                           struct xp_slot *slot, uint32_t events, unsigned about)
{
	uint32_t reported = XP_UNLIKELY(events & POLLHUP)
		? without_unconnected(queue, fd, slot, events) : events;
	unsigned wanted = slot->enabled & about, filters;

	/*
	 * The program requested POLLRDHUP without POLLIN.  Some kernels report POLLIN for data as
	 * well: ignore POLLIN, unless there is an end of file, a hang-up or an error.
	 */
	if (XP_UNLIKELY(!(slot->requested & XP_REQUEST_IN)) &&
	    !(reported & (POLLRDHUP | POLLHUP | POLLERR)))
		reported &= ~(uint32_t)POLLIN;
	filters = wanted & (xp_filters_of(reported) |
		(reported & (POLLHUP | POLLERR) ? XP_BIT(XP_READ) | XP_BIT(XP_WRITE) : 0));
	/*
	 * Some enabled filters get no event for the hang-up or error (EXCEPT, or those of an
	 * unconnected socket): record that, because xpoll_pwait and xpoll_wait have to report it.
	 */
	if (XP_UNLIKELY(events & (POLLHUP | POLLERR)) && filters != wanted)
		xp_note_ignored_hangup(queue, slot);
	if (XP_UNLIKELY(slot->present != slot->enabled) &&
	    (!filters || events & (POLLPRI | POLLERR)))
		xp_defer_for_disabled(queue, fd, slot, events);
	if (XP_UNLIKELY(!filters)) {
		xp_entry_fruitless(queue, fd, slot, about, wait->cap == 1);
		return;
	}
	if (is_delivered(wait, slot)) {
		recheck_delivered(queue, wait, fd, slot, reported, filters & slot->delivered);
		filters &= ~(unsigned)slot->delivered;
		if (!filters)
			return;
	} else if (!xp_wait_is_full(wait)) {
		slot->epoch = wait->epoch;
		slot->delivered = 0;
	}
	slot->fruitless_reports = 0;
	wait->delivered_some = true;
	events_store(queue, wait, fd, slot, reported, filters);
}

/* --- The poll-like level: xpoll_pwait and xpoll_wait ------------------------------------- */

/*
 * Called if the descriptor has a record in the array of the wait already: adds the bits of a
 * further report to that record.
 */
static void ready_merge(struct xpoll *queue, struct xp_wait *wait, int fd, struct xp_slot *slot,
                        uint32_t events)
{
	uint32_t bits = xp_enabled_bits(slot, events);
	unsigned filters = xp_enabled_filters_of(slot, bits);
	struct xpoll_ready *ready = wait->ready, *end = ready + wait->len;

	while (ready < end && xp_token_fd(ready->data64) != fd)
		ready++;
	/*
	 * fd has no record: slot->epoch, the number (modulo 2^32) of the wait that last delivered
	 * the slot, equals this wait's number by chance.  Leave the bits to the next wait.
	 */
	if (XP_UNLIKELY(ready == end)) {
		xp_defer_delivery(queue, fd, slot, filters, events);
		return;
	}
	slot->delivered = XP_ALL_FILTERS &
		xp_enabled_filters_of(slot, xp_enabled_bits(slot, (uint32_t)ready->events));
	recheck_delivered(queue, wait, fd, slot, events, filters & slot->delivered);
	if (filters & ~(unsigned)slot->delivered || bits & (POLLERR | POLLHUP | POLLRDHUP))
		ready->events |= (int)events;
}

/*
 * The rare cases of deliver_ready: no filter of these bits is enabled, the descriptor has a record
 * already, or the array is full.
 */
static XP_NOINLINE void deliver_ready_rare(struct xpoll *queue, struct xp_wait *wait, int fd,
                                           struct xp_slot *slot, uint32_t events, unsigned about)
{
	if (!xp_enabled_bits(slot, events)) {
		xp_defer_for_disabled(queue, fd, slot, events);
		xp_entry_fruitless(queue, fd, slot, about, wait->cap == 1);
	} else if (is_delivered(wait, slot)) {
		ready_merge(queue, wait, fd, slot, events);
	} else {
		wait->delivered_some = true;
		xp_defer_delivery(queue, fd, slot, slot->enabled & about, events);
	}
}

/*
 * Deliver a report to a wait of xpoll_pwait or xpoll_wait: one record for all filters of the
 * descriptor.  For xp_deliver.
 */
static void deliver_ready(struct xpoll *queue, struct xp_wait *wait, int fd,
                          struct xp_slot *slot, uint32_t events, unsigned about)
{
	/*
	 * Remove bits of filters that have other entries in the kernel: the report is not about
	 * them.
	 */
	if (XP_UNLIKELY(slot->present & ~about))
		events &= xp_watch_bits(slot, about) | POLLHUP | POLLERR;
	if (XP_UNLIKELY(!xp_enabled_bits(slot, events) || is_delivered(wait, slot) ||
	                xp_wait_is_full(wait))) {
		deliver_ready_rare(queue, wait, fd, slot, events, about);
		return;
	}
	slot->epoch = wait->epoch;
	slot->fruitless_reports = 0;
	wait->delivered_some = true;
	wait->ready[wait->len++] = (struct xpoll_ready){
		.data64 = xp_slot_token(slot, fd),
		.events = (int)events,
	};
}

uint32_t xp_ready_take(struct xpoll *queue, const struct xpoll_ready *ready, union xp_udata *udata)
{
	int fd = xp_token_fd(ready->data64);
	struct xp_slot *slot = xp_slots_get(queue, fd);
	uint32_t events = (uint32_t)ready->events, bits = xp_enabled_bits(slot, events);
	unsigned filters = xp_enabled_filters_of(slot, bits);

	if (!xp_slot_token_is_live(slot, ready->data64))
		return 0;
	if (!bits || events & (POLLPRI | POLLERR))
		xp_defer_for_disabled(queue, fd, slot, events);
	if (!bits)
		return 0;
	*udata = slot->udata[XP_LOWEST_BIT(filters)];
	xp_finish_delivery(queue, fd, slot, filters);
	return bits;
}

int xp_ready_finish(struct xpoll *queue, struct xp_wait *wait)
{
	int found = wait->len;

	wait->len = 0;
	for (int i = 0; i < found; i++) {
		int fd = xp_token_fd(wait->ready[i].data64);
		union xp_udata udata;
		uint32_t bits = xp_ready_take(queue, &wait->ready[i], &udata);

		if (bits)
			wait->ready[wait->len++] = (struct xpoll_ready){
				.data64 = udata.bits,
				.fd = (xpoll_fd_t)xp_fd_ident(fd),
				.events = (int)bits,
			};
	}
	return wait->len;
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

/*
 * Call the source whose descriptor the kernel has reported with this token.  Returns false if the
 * token belongs to no source.
 */
static bool source_fd_fired(struct xpoll *queue, struct xp_wait *wait, uint64_t token)
{
	struct xp_slot *slot = xp_slots_find(queue, xp_token_fd(token));
	struct xp_source_fd *source_fd;

	if (!slot || slot->mode != XP_MODE_SOURCE || !xp_slot_token_is_live(slot, token))
		return false;
	source_fd = slot->udata[0].pointer;
	XP_ASSERT(source_fd && source_fd->fd == xp_token_fd(token));
	slot->armed = source_fd->once ? 0 : slot->armed;
	xp_source_wait(queue, wait);
	source_fd->ready(queue, source_fd);
	xp_source_wait(queue, NULL);
	return true;
}

/* Handle a report whose token belongs to a source, or to registrations that have ended. */
static XP_NOINLINE void report_without_registration(struct xpoll *queue, struct xp_wait *wait,
                                                    uint64_t token)
{
	struct xp_slot *slot = xp_slots_get(queue, xp_token_fd(token));

	if (source_fd_fired(queue, wait, token)) {
		wait->delivered_some = true;
		return;
	}
	/*
	 * The report is of an entry of a closed file of which a duplicate is open, or the report
	 * was fetched before a DELETE.  The fourth such report of a slot makes the wait replace the
	 * kernel's set; reports of a set that was replaced meanwhile do not count.
	 */
	queue->stats.stale_dropped++;
	if (wait->rebuilds_snapshot != (uint32_t)queue->stats.rebuilds ||
	    slot->stale++ < XP_FRUITLESS_MOST - 1)
		return;
	slot->stale = 0;
	wait->must_renew_set = true;
}

/*
 * Called if filters were enabled after this thread had fetched the report.  Another thread may have
 * delivered the same readiness in between, so have the next wait check the slot, unless the kernel
 * reports a level-triggered entry again by itself.  Not called for files whose bits a report
 * clears.
 */
static XP_NOINLINE void report_outdated(struct xpoll *queue, struct xp_wait *wait, int fd,
                            struct xp_slot *slot, uint32_t events, unsigned about)
{
	unsigned filters = slot->enabled & about &
		(events & (POLLHUP | POLLERR) ? XP_ALL_FILTERS : xp_filters_of(events));

	wait->more = true;
	if (filters && (slot->mode != XP_MODE_LEVEL || filters & slot->solo))
		xp_candidate_add_delivered(queue, fd, slot, filters);
}

/*
 * Returns true if the main entry was changed after the kernel made the report: the change made the
 * kernel check the state, so the caller drops this report, and the wait polls the kernel again
 * (wait->more).  Otherwise records that the report has made a one-shot entry silent.
 */
static bool report_check_superseded(struct xp_wait *wait, int fd, struct xp_slot *slot,
                                    uint64_t token)
{
	if (XP_LIKELY(slot->arming == xp_token_arming(token))) {
		/*
		 * The report has made a one-shot entry silent: record that before the entry can be
		 * armed again.
		 */
		if (slot->mode == XP_MODE_ONCE)
			slot->armed &= slot->solo;
		return false;
	}
	/*
	 * A report has cleared the bits of this file in the kernel (XP_KIND_CLEARED), so no later
	 * report has them: return false, so that this report is delivered.
	 */
	if (xp_slot_kind(fd, slot) == XP_KIND_CLEARED)
		return false;
	wait->more = true;
	return true;
}

/* Returns POLLRDHUP if the peer has closed its side, which an exclusive entry does not report. */
static XP_NOINLINE uint32_t half_close_bit(struct xpoll *queue, int fd, struct xp_slot *slot,
                                           uint32_t events)
{
	struct pollfd probe = {.fd = fd, .events = POLLRDHUP};

	if (!(events & POLLIN) || xp_slot_kind(fd, slot) != XP_KIND_SOCKET)
		return 0;
	xp_count(&queue->counters.syscalls_check);
	return xp_sys_poll_now(&probe, 1) > 0 ? (unsigned short)probe.revents & POLLRDHUP : 0;
}

/*
 * Handle a report that needs more than a delivery: the registration may have ended, fd may be
 * closed, or the slot has a solo entry (for one filter), an exclusive or one-shot entry or a
 * low-water mark.  Each 64th report of a slot comes here, too, to verify that fd was not reused.
 * outdated: filters were enabled after this thread had fetched the report.
 */
static XP_NOINLINE void report_uncommon(struct xpoll *queue, struct xp_wait *wait,
                                        const struct xp_fired *fired, bool outdated)
{
	int fd = xp_token_fd(fired->token);
	struct xp_slot *slot = xp_slots_get(queue, fd);
	uint32_t events = fired->events & ~XP_WATCH_SOLO_ANY;
	unsigned about = XP_ALL_FILTERS & (fired->events & XP_WATCH_SOLO_ANY
		? fired->events / XP_WATCH_SOLO(0) : ~(unsigned)slot->solo);

	if (XP_UNLIKELY(!slot->present || !xp_slot_token_is_live(slot, fired->token))) {
		report_without_registration(queue, wait, fired->token);
	} else if (XP_UNLIKELY(events & POLLNVAL)) {
		/*
		 * fd was closed or reused.  Poll again without it: with select(2), which fails
		 * because of such an fd, no other descriptor was reported.
		 */
		wait->more = true;
		xp_entry_drop(queue, fd, slot);
	} else if (!(fired->events & XP_WATCH_SOLO_ANY) &&
	           report_check_superseded(wait, fd, slot, fired->token)) {
		return;
	} else if (outdated && xp_slot_kind(fd, slot) != XP_KIND_CLEARED) {
		report_outdated(queue, wait, fd, slot, events, about);
	} else if (XP_LIKELY(++slot->reports != 0) || queue->ops->caps & XP_CAP_FREE_CHANGE ||
	           xp_entry_verify_or_drop(queue, fd, slot, 0)) {
		/*
		 * On a back end without XP_CAP_FREE_CHANGE the condition above verifies at each
		 * 64th report that fd still refers to the registered file: nothing else reveals a
		 * close while a duplicate is open.
		 */
		if (XP_UNLIKELY(slot->is_exclusive))
			events |= half_close_bit(queue, fd, slot, events);
		events = xp_lowat_mask_events(queue, fd, slot, events);
		if (events)
			xp_deliver(queue, wait, fd, slot, events, about);
	}
}

void xp_report(struct xpoll *queue, struct xp_wait *wait, const struct xp_fired *fired)
{
	int fd = xp_token_fd(fired->token);
	struct xp_slot *slot;
	bool outdated;

	if (XP_UNLIKELY(fired->token == XP_TOKEN_WAKE)) {
		wait->more |= (fired->events & XP_FIRED_MORE) != 0;
		return;
	}
	slot = xp_slots_get(queue, fd);
	outdated = slot->has_cutoff &&
		queue->last_cutoff - slot->cutoff < queue->last_cutoff - wait->cutoff_snapshot;
	/*
	 * Deliver a common report at once: the kernel made it after the last change of the main
	 * entry (not of a solo entry, one for a single filter), and the slot needs no special
	 * treatment.  report_uncommon handles all others, and each 64th report of a slot.
	 */
	if (XP_UNLIKELY(!slot->present || slot->arming != xp_token_arming(fired->token) ||
	                fired->events & (XP_WATCH_SOLO_ANY | POLLNVAL) || slot->solo ||
	                slot->lowat || slot->is_exclusive || outdated ||
	                slot->mode == XP_MODE_ONCE || slot->reports == 63)) {
		report_uncommon(queue, wait, fired, outdated);
	} else {
		slot->reports++;
		xp_deliver(queue, wait, fd, slot, fired->events, XP_ALL_FILTERS);
	}
}
