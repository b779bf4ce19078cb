/* From what fired to the caller's array. */
#include "core/deliver.h"

#include "base/assert.h"
#include "core/candidate.h"
#include "core/event_count.h"
#include "core/interest.h"
#include "core/lowat.h"
#include "core/news.h"
#include "core/batch.h"
#include "core/registration.h"
#include "core/source_fd.h"
#include "core/sources.h"
#include "os/fdkind.h"
#include "os/fdnum.h"
#include "os/sys.h"

enum {
	/* Harvests that leave room for two events of each entry. */
	CROWDED_FOR = 64,
	/* Reports of one dead registration until the kernel's set is renewed. */
	STALE_MOST = 4,
	/* The same of dead registrations that share a place in the table of those. */
	STALE_MIXED_MOST = 64,
	/* Entries by which slots are fetched before they are needed. */
	FETCHED_AHEAD = 8,
};

/*
 * Of a set that was renewed meanwhile it says nothing about the new one: threads
 * that slept in the old set all come out with it.
 */
static void stale(struct xpoll *queue, struct xp_wait *wait,
                  uint64_t token)
{
	unsigned generation = xp_token_tag(token) >> XP_ARMING_BITS;
	struct xp_stale *place = &queue->stale[((unsigned)token ^ generation) % XP_STALE_WATCHED];

	xp_count(&queue->counters.stale_dropped);
	if (wait->set != xp_set_number(queue))
		return;
	if (place->token != token) {
		place->token = token;
		place->count = 0;
		place->mixed++;
	}
	/* A race leaves one such report behind, a dead entry many. */
	if (++place->count >= STALE_MOST || place->mixed >= STALE_MIXED_MOST) {
		place->count = 0;
		place->mixed = 0;
		wait->renew = true;
	}
}

/* Is the descriptor what it was?  If not, its slot is dropped. */
static bool confirmed(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	if (++slot->delivered.count % XP_SAMPLE_EVERY || xp_exact(queue))
		return true;
	/* They cannot be changed, or not without bringing up the edges again. */
	if (slot->mode == XP_MODE_EXCLUSIVE || slot->kind == XP_KIND_NEWS ||
	    (slot->mode == XP_MODE_EDGE && slot->modes.clear))
		return xp_entry_same_file(queue, fd, slot, 0);
	if (slot->mode != XP_MODE_LEVEL && slot->mode != XP_MODE_EDGE)
		return true;
	/* The kernel may still have what was deleted since. */
	(void)xp_entry_push(queue, fd, slot, (enum xp_mode)slot->mode,
	                       slot->armed & slot->present);
	return slot->present;
}

/* The filters that are not this entry's; 0: it has them all. */
static unsigned others_of(const struct xp_slot *slot, uint32_t events)
{
	unsigned solo = events / XP_FIRED_SOLO(0) & XP_ALL_FILTERS;

	return solo ? ~solo : slot->solo;
}

/* The filters that these bits make events of. */
static unsigned filters_of(uint32_t events)
{
	return xp_entry_filters(events) |
		(events & (POLLHUP | POLLERR) ? XP_BIT(XP_READ) | XP_BIT(XP_WRITE) : 0);
}

/* The end alone is waited for, but some kernels report the data before it as well. */
static XP_INLINE bool data_is_unwanted(const struct xp_slot *slot, uint32_t events)
{
	return events & POLLIN && !(slot->requested & XP_REQUEST_IN) &&
		!(events & (POLLRDHUP | POLLHUP | POLLERR));
}

/* The filters that a report of an entry may be about. */
static unsigned reported_of(const struct xp_slot *slot, uint32_t events)
{
	unsigned all = events & (POLLHUP | POLLERR) ? XP_ALL_FILTERS : 0;

	return (xp_entry_filters(events) | all) & ~others_of(slot, events);
}

/*
 * A report whose mode matters: a one-shot entry has made it, and an exclusive one
 * cannot distinguish half-closes from data.
 */
static XP_NOINLINE uint32_t report_of_mode(struct xpoll *queue, int fd,
                                           struct xp_slot *slot, uint32_t events)
{
	struct pollfd probe = {.fd = fd, .events = POLLRDHUP};

	XP_ASSERT(slot->present && slot->mode >= XP_MODE_ONESHOT);
	XP_ASSERT(slot->mode != XP_MODE_UNPOLLABLE && slot->mode != XP_MODE_SOURCE);
	if (slot->mode == XP_MODE_ONESHOT)
		slot->mode = XP_MODE_FIRED;
	if (slot->mode != XP_MODE_EXCLUSIVE || events & POLLHUP ||
	    !(events & POLLIN && slot->enabled & XP_BIT(XP_READ)))
		return events;
	if (!xp_slot_is(fd, slot, XP_KIND_SOCKET))
		return events;
	xp_count(&queue->counters.syscalls_check);
	if (xp_sys_poll_now(&probe, 1) > 0)
		events |= (uint32_t)probe.revents & POLLRDHUP;
	return events;
}

/*
 * An unconnected stream socket reports POLLOUT and POLLHUP all the time; that
 * is no end of file, and there is nothing to write to.  One that was
 * connected is at its end of file as well, which a check of that shows.  And TCP
 * makes an unconnected socket of a listener that is shut down: whoever waits
 * for connections has to see that none will come.
 */
static XP_NOINLINE uint32_t without_unconnected(struct xpoll *queue, int fd,
                                                struct xp_slot *slot,
                                                uint32_t events)
{
	struct pollfd probe = {.fd = fd, .events = POLLIN | POLLRDHUP};
	int rc;

	if (events & (POLLIN | POLLRDHUP))
		return events;
	if (!xp_slot_is(fd, slot, XP_KIND_SOCKET))
		return events;
	xp_count(&queue->counters.syscalls_check);
	rc = xp_sys_poll_now(&probe, 1);
	if (rc > 0 && probe.revents & (POLLIN | POLLRDHUP))
		return events;
	xp_count(&queue->counters.syscalls_check);
	if (slot->enabled & XP_BIT(XP_READ) && xp_sys_was_listener(fd))
		return POLLIN | POLLRDHUP | XP_EVENT_ABORTED;
	/* No memory: the kernel reports a level again, and an edge not. */
	if (rc < 0 && slot->mode != XP_MODE_LEVEL)
		return events;
	return events & ~(uint32_t)(POLLHUP | POLLOUT);
}

static uint16_t eof_of(int fd, struct xp_slot *slot, unsigned filter,
                       uint32_t events)
{
	if (filter == XP_EXCEPT || !(events & (POLLRDHUP | POLLHUP | POLLERR)))
		return 0;
	if (events & POLLHUP || (filter == XP_READ && events & POLLRDHUP))
		return XPOLL_EOF;
	/* POLLERR alone: a pipe has no reader; a socket has an error. */
	return events & POLLERR && xp_slot_is(fd, slot, XP_KIND_FIFO)
		? XPOLL_EOF : 0;
}

/* Another event in the caller's array, as far as all of them are alike. */
static XP_INLINE struct xpoll_event *event_next(struct xp_wait *wait, int fd,
                                                const struct xp_slot *slot,
                                                unsigned filter)
{
	static const int16_t names[XP_FD_FILTERS] = {
		[XP_READ] = XPOLL_FILT_READ,
		[XP_WRITE] = XPOLL_FILT_WRITE,
		[XP_EXCEPT] = XPOLL_FILT_EXCEPT,
	};
	struct xpoll_event *event = &wait->events[wait->len++];

	XP_ASSERT(wait->len <= wait->cap);
	XP_ASSERT(slot->enabled & XP_BIT(filter));
	event->ident = xp_fd_ident(fd);
	event->filter = names[filter];
	event->flags = 0;
	event->fflags = 0;
	event->data = 1;
	event->udata64 = slot->udata[filter].bits;
	return event;
}

static uint16_t modes_of(const struct xp_slot *slot, unsigned filter)
{
	return (uint16_t)((slot->modes.clear >> filter & 1u) * XPOLL_CLEAR |
	                  (slot->modes.oneshot >> filter & 1u) * XPOLL_ONESHOT |
	                  (slot->modes.dispatch >> filter & 1u) * XPOLL_DISPATCH);
}

static void emit(struct xpoll *queue, struct xp_wait *wait, int fd,
                 struct xp_slot *slot, unsigned filter, uint32_t events)
{
	struct xpoll_event *event = event_next(wait, fd, slot, filter);

	slot->delivered.filters |= XP_SET(XP_BIT(filter));
	event->flags = eof_of(fd, slot, filter, events);
	if (queue->report_modes)
		event->flags |= modes_of(slot, filter);
	event->fflags = filter == XP_EXCEPT ? XPOLL_NOTE_OOB : 0;
	if (XP_UNLIKELY((slot->count.filters | slot->count.soerr) & XP_BIT(filter)) &&
	    !xp_event_count_usual(wait, slot, filter))
		xp_event_count(queue, wait, fd, slot, filter, events);
	/* Level mode, the usual one, leaves nothing to do. */
	if (slot->mode != XP_MODE_LEVEL ||
	    (slot->modes.oneshot | slot->modes.dispatch) & XP_BIT(filter))
		xp_interest_handed(queue, fd, slot, filter);
}

/* Of these filters, in their order; returns those that found no room. */
static XP_INLINE unsigned deliver_filters(struct xpoll *queue,
                                          struct xp_wait *wait, int fd,
                                          struct xp_slot *slot,
                                          unsigned filters, uint32_t events)
{
	unsigned left = 0;

	for (; filters != 0; filters &= filters - 1) {
		unsigned i = XP_LOWEST_BIT(filters);

		/* Handing one out may have ended the others' file. */
		if (!(slot->enabled & XP_BIT(i)))
			continue;
		if (!xp_wait_full(wait)) {
			emit(queue, wait, fd, slot, i, events);
			continue;
		}
		xp_candidate_defer(queue, fd, slot, XP_BIT(i), events);
		queue->crowded = CROWDED_FOR;
		left |= XP_BIT(i);
	}
	return left;
}

/*
 * What fired of these filters; there is at least one.  Who found no room begins
 * the next time, or it would never find any.
 */
static XP_INLINE void deliver_events(struct xpoll *queue, struct xp_wait *wait,
                                     int fd, struct xp_slot *slot,
                                     unsigned filters, uint32_t events)
{
	unsigned later = filters & (XP_BIT(slot->delivered.first) - 1u);
	unsigned left = deliver_filters(queue, wait, fd, slot, filters & ~later,
	                                events);

	if (XP_UNLIKELY(later)) {
		unsigned also = deliver_filters(queue, wait, fd, slot, later,
		                                events);

		left = left ? left : also;
	}
	slot->delivered.first = left ? (uint8_t)XP_LOWEST_BIT(left) : XP_READ;
	xp_interest_fired_rest(queue, fd, slot);
}

/* Apart, as it needs registers that the most usual event does not. */
static XP_NOINLINE void count_event(struct xpoll *queue, struct xp_wait *wait, int fd,
                                    struct xp_slot *slot, unsigned filter, uint32_t events)
{
	if (!xp_event_count_usual(wait, slot, filter))
		xp_event_count(queue, wait, fd, slot, filter, events);
}

/*
 * Is it the most usual event by far, one of READ and WRITE with nothing special about
 * it?  The filter's bit; 0: it is another.
 */
static XP_INLINE unsigned plain_filter(const struct xpoll *queue, const struct xp_wait *wait,
                                       const struct xp_slot *slot, uint32_t events)
{
	unsigned filters = (events & POLLIN ? XP_BIT(XP_READ) : 0) |
		(events & POLLOUT ? XP_BIT(XP_WRITE) : 0);

	filters &= slot->enabled;
	if (XP_UNLIKELY(slot->modes.oneshot || slot->modes.dispatch || slot->count.soerr ||
	                slot->lowat.filters || slot->delivered.first ||
	                slot->mode > XP_MODE_EDGE || xp_wait_full(wait) ||
	                events & ~(uint32_t)(POLLIN | POLLOUT) ||
	                slot->delivered.epoch == wait->wait_epoch ||
	                data_is_unwanted(slot, events) ||
	                (slot->modes.clear & filters && queue->report_modes)))
		return 0;
	return filters == XP_BIT(XP_READ) || filters == XP_BIT(XP_WRITE) ? filters : 0;
}

/* Deliver it: few instructions. */
static XP_INLINE void deliver_plain(struct xpoll *queue, struct xp_wait *wait, int fd,
                                    struct xp_slot *slot, unsigned filter, uint32_t events)
{
	slot->delivered.epoch = wait->wait_epoch;
	slot->delivered.filters = XP_SET(filter);
	slot->history.fruitless = 0;
	slot->delivered.spent = 1;
	wait->news = true;
	(void)event_next(wait, fd, slot, filter >> 1);
	if (XP_UNLIKELY(slot->count.filters & filter))
		count_event(queue, wait, fd, slot, filter >> 1, events);
	/* By edges to the kernel: it will not report this level again. */
	if (slot->mode == XP_MODE_EDGE && !(slot->modes.clear & filter))
		xp_recheck_level(queue, fd, slot, filter);
}

/*
 * A descriptor that this call has reported fired again: the kernel may know of
 * filters that a check did not ask for.  Of the others nothing is missed: the
 * program has not seen their events yet.  But this may be the last report of a
 * level that was by level to the kernel when it was reported, and is by edge now.
 */
static XP_NOINLINE void deliver_more(struct xpoll *queue, struct xp_wait *wait,
                                     int fd, struct xp_slot *slot,
                                     unsigned filters, uint32_t events)
{
	unsigned fresh = filters & ~(unsigned)slot->delivered.filters;

	slot->delivered.spent = 1;
	if (fresh) {
		deliver_events(queue, wait, fd, slot, fresh, events);
		return;
	}
	wait->again += slot->mode != XP_MODE_EDGE;
	xp_candidate_outdated(queue, fd, slot, filters & ~xp_slot_by_edge(slot));
}

static XP_NOINLINE void event_deliver_any(struct xpoll *queue, struct xp_wait *wait,
                                          int fd, struct xp_slot *slot,
                                          uint32_t events)
{
	uint32_t reported = events;
	unsigned filters, wanted;

	if (XP_UNLIKELY(events & POLLHUP))
		reported = without_unconnected(queue, fd, slot, events);
	if (XP_UNLIKELY(data_is_unwanted(slot, reported)))
		reported &= ~(uint32_t)POLLIN;
	wanted = slot->enabled & ~wait->passed_over;
	filters = filters_of(reported) & wanted;
	if (XP_UNLIKELY(events & (POLLHUP | POLLERR)) && filters != wanted) {
		slot->delivered.withheld = 1;
		queue->withheld = true;
	}
	if (!filters || XP_UNLIKELY(events & (POLLPRI | POLLERR) && slot->present != slot->enabled))
		xp_news_missed(queue, fd, slot, events);
	if (!filters) {
		xp_interest_fruitless(queue, fd, slot, wait->passed_over);
		return;
	}
	if (slot->delivered.epoch == wait->wait_epoch) {
		deliver_more(queue, wait, fd, slot, filters, reported);
		return;
	}
	slot->history.fruitless = 0;
	slot->delivered.spent = 1;
	wait->news = true;
	if (!xp_wait_full(wait)) {
		slot->delivered.epoch = wait->wait_epoch;
		slot->delivered.filters = 0;
	}
	deliver_events(queue, wait, fd, slot, filters, reported);
}

void xp_deliver_event(struct xpoll *queue, struct xp_wait *wait, int fd,
                      struct xp_slot *slot, uint32_t events)
{
	unsigned filter = plain_filter(queue, wait, slot, events);

	if (XP_LIKELY(filter != 0))
		deliver_plain(queue, wait, fd, slot, filter, events);
	else
		event_deliver_any(queue, wait, fd, slot, events);
}

/* Any entry of the kernel's. */
static XP_NOINLINE void event_deliver_fired(struct xpoll *queue, struct xp_wait *wait,
                                            const struct xp_fired *fired)
{
	struct xp_slot *slot = xp_fired_usual(queue, wait, fired, false);

	if (slot)
		xp_deliver_event(queue, wait, xp_token_fd(fired->token), slot, fired->events);
}

/* Of the usual one it is found out that it is that before anything is changed. */
void xp_deliver_fired_events(struct xpoll *queue, struct xp_wait *wait,
                             const struct xp_fired *fired, int count)
{
	for (; count > 0; fired++, count--) {
		struct xp_slot *slot = xp_fired_slot(queue, fired);
		unsigned filter = 0;

		if (count > FETCHED_AHEAD)
			xp_prefetch(xp_fired_slot(queue, fired + FETCHED_AHEAD));
		if (XP_LIKELY(slot && !xp_fired_is_rare(queue, wait, fired, slot, false) &&
		              (slot->delivered.count + 1) % XP_SAMPLE_EVERY != 0))
			filter = plain_filter(queue, wait, slot, fired->events);
		if (XP_UNLIKELY(filter == 0)) {
			event_deliver_fired(queue, wait, fired);
			continue;
		}
		slot->delivered.count++;
		deliver_plain(queue, wait, xp_token_fd(fired->token), slot, filter,
		              fired->events);
	}
}

void xp_deliver_slot(struct xpoll *queue, struct xp_wait *wait, int fd,
                     struct xp_slot *slot, uint32_t events)
{
	if (XP_UNLIKELY(slot->lowat.filters & slot->enabled)) {
		events = xp_lowat_reached(queue, fd, slot, events);
		if (!events)
			return;
	}
	xp_deliver(queue, wait, !wait->events, xp_slot_token(slot, fd), slot, events, false);
}

/* Of a descriptor that has marks, or several entries: one of them has fired. */
static void deliver_part(struct xpoll *queue, struct xp_wait *wait, int fd,
                         struct xp_slot *slot, uint32_t events)
{
	wait->passed_over = XP_SET(others_of(slot, events));
	if (wait->passed_over)
		events &= xp_entry_probe_bits(slot, ~wait->passed_over) | POLLHUP | POLLERR;
	xp_deliver_slot(queue, wait, fd, slot, events);
	wait->passed_over = 0;
}

/* The thread slept before the main entry was changed, but its arming is that of the change. */
static bool is_of_last_change(const struct xp_fired *fired, const struct xp_slot *slot)
{
	return slot->delivered.arming_last && !(fired->events & XP_FIRED_SOLO_ANY);
}

void xp_deliver_rare(struct xpoll *queue, struct xp_wait *wait, const struct xp_fired *fired)
{
	int fd = xp_token_fd(fired->token);
	uint32_t events = fired->events;
	struct xp_slot *slot;

	if (fired->token == XP_TOKEN_WAKE) {
		if (events & XP_FIRED_MORE)
			wait->exhausted = false;
		return;
	}
	slot = xp_slots_get(&queue->slots, fd);
	if (!slot->present || !xp_slot_is_of(slot, fired->token)) {
		wait->news = true;
		xp_sources_wait(queue, wait);
		if (!xp_source_fd_fired(queue, fired->token))
			stale(queue, wait, fired->token);
		xp_sources_wait(queue, NULL);
	} else if (events & POLLNVAL) {
		/* A select(2) that meets a closed number reports nothing else: again. */
		wait->exhausted = false;
		xp_entry_drop(queue, fd, slot);
	} else if (xp_fired_is_before(fired, slot)) {
		XP_ASSERT(queue->lazy && slot->mode != XP_MODE_SOURCE);
		/* The change made the kernel report again: ask it, also after the deadline. */
		wait->exhausted = false;
		xp_news_dropped(queue, fd, slot, events);
	} else if (xp_slot_is_outdated(queue, slot, wait) && !is_of_last_change(fired, slot)) {
		/* The kernel reports a level once more: ask it again, as above. */
		wait->exhausted = false;
		xp_candidate_outdated(queue, fd, slot, reported_of(slot, events));
		xp_news_dropped(queue, fd, slot, events);
	} else {
		if (slot->mode > XP_MODE_EDGE)
			events = report_of_mode(queue, fd, slot, events);
		if (confirmed(queue, fd, slot))
			deliver_part(queue, wait, fd, slot, events);
	}
}

void xp_deliver_active(struct xpoll *queue, struct xp_wait *wait)
{
	struct xp_list *last = queue->registrations.active.prev;
	struct xp_list *item = queue->registrations.active.next;
	bool more = wait->events && item != &queue->registrations.active;

	while (more && !xp_wait_full(wait)) {
		struct xp_registration *reg = XP_CONTAINER_OF(item, struct xp_registration, ready);

		more = item != last;
		item = item->next;
		if (reg->wait_epoch == wait->wait_epoch || !xp_registration_confirm(queue, reg))
			continue;
		if (xp_registration_deliver(queue, reg, wait->wait_epoch,
		                            &wait->events[wait->len]))
			wait->len++;
	}
}
