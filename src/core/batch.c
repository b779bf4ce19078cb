/* Into the batch, and back to where it can be found again. */
#include "core/batch.h"

#include "core/candidate.h"
#include "core/interest.h"
#include "core/news.h"
#include "os/fdnum.h"

/* The bits that poll(2) would report, by enabled | requested. */
#define POLL_MASK(i) \
	(((i) & 7 ? POLLERR | POLLHUP : 0) | \
	 ((i) & 1 && (i) & XP_REQUEST_IN ? POLLIN : 0) | \
	 ((i) & 1 && (i) & XP_REQUEST_RDHUP ? POLLRDHUP : 0) | \
	 ((i) & 2 ? POLLOUT : 0) | ((i) & 4 ? POLLPRI : 0))

const uint16_t xp_poll_masks[64] = {XP_64_OF(POLL_MASK)};

_Static_assert(XP_BIT(XP_READ) == 1 && XP_BIT(XP_WRITE) == 2 &&
               XP_BIT(XP_EXCEPT) == 4 && XP_REQUEST_IN == 8 && XP_REQUEST_RDHUP == 16,
               "the index of the table");

void xp_poll_handed(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters,
                    uint32_t events)
{
	if (XP_UNLIKELY(events & (POLLPRI | POLLERR) && slot->present != slot->enabled))
		xp_news_missed(queue, fd, slot, events);
	for (unsigned i = 0; i < XP_FD_FILTERS; i++)
		if (filters & XP_BIT(i) && slot->enabled & XP_BIT(i))
			xp_interest_handed(queue, fd, slot, i);
	xp_interest_fired_rest(queue, fd, slot);
}

void xp_ready_append(struct xpoll *queue, struct xp_wait *wait, int fd, struct xp_slot *slot,
                     uint32_t events)
{
	uint32_t bits = xp_poll_bits(slot, events);
	unsigned filters = xp_poll_filters(slot, bits);

	XP_ASSERT(bits && filters && !xp_wait_full(wait));
	wait->ready[wait->len++] = (struct xpoll_ready){
		.data64 = slot->udata[XP_LOWEST_BIT(filters)].bits,
		.fd = (xpoll_fd_t)xp_fd_ident(fd),
		.events = (int)bits,
	};
	slot->delivered.filters = XP_SET(filters);
	xp_poll_handed(queue, fd, slot, filters, events);
}

/* The array has a record of it already, to which what else fired is added. */
static void ready_add(struct xpoll *queue, struct xp_wait *wait, int fd, struct xp_slot *slot,
                      uint32_t events)
{
	uint32_t bits = xp_poll_bits(slot, events);
	unsigned filters = xp_poll_filters(slot, bits);
	int i = 0;

	if (!(filters & ~(unsigned)slot->delivered.filters) &&
	    !(bits & (POLLERR | POLLHUP | POLLRDHUP)))
		return;
	while (xp_fd_of(wait->ready[i].fd) != fd)
		i++;
	XP_ASSERT(i < wait->len);
	wait->ready[i].events |= (int)bits;
	if (XP_LOWEST_BIT(filters) < XP_LOWEST_BIT(slot->delivered.filters))
		wait->ready[i].data64 = slot->udata[XP_LOWEST_BIT(filters)].bits;
	slot->delivered.filters |= XP_SET(filters);
	xp_poll_handed(queue, fd, slot, filters, events);
}

/* It is in the batch already: what else fired of it comes with the same entry. */
static void batch_add(struct xpoll *queue, const struct xp_wait *wait, int fd,
                      const struct xp_slot *slot, uint32_t events)
{
	bool single = !(slot->enabled & (slot->enabled - 1u));
	bool known = single && !(events & (POLLERR | POLLHUP | POLLRDHUP));

	for (int i = 0; i < wait->len && !known; i++) {
		known = xp_token_fd(queue->batch.ready[i].token) == fd;
		if (known)
			queue->batch.ready[i].events |= events;
	}
}

/* This wait has delivered the descriptor already. */
static void poll_deliver_more(struct xpoll *queue, struct xp_wait *wait, int fd,
                              struct xp_slot *slot, uint32_t events)
{
	slot->delivered.spent = 1;
	if (wait->ready)
		ready_add(queue, wait, fd, slot, events);
	else
		batch_add(queue, wait, fd, slot, events);
	if (slot->mode != XP_MODE_EDGE) {
		wait->again++;
		xp_candidate_outdated(queue, fd, slot, slot->enabled);
	}
}

XP_NOINLINE void xp_poll_deliver_rare(struct xpoll *queue, struct xp_wait *wait,
                                      int fd, struct xp_slot *slot, uint32_t events)
{
	if (!xp_poll_bits(slot, events)) {
		xp_news_missed(queue, fd, slot, events);
		xp_interest_fruitless(queue, fd, slot, wait->passed_over);
	} else if (slot->delivered.epoch == wait->wait_epoch) {
		poll_deliver_more(queue, wait, fd, slot, events);
	} else {
		slot->history.fruitless = 0;
		slot->delivered.spent = 1;
		wait->news = true;
		xp_candidate_defer(queue, fd, slot, slot->enabled, events);
	}
}

void xp_poll_return_batch(struct xpoll *queue)
{
	int served = queue->candidates.len;

	while (xp_batch_left(queue)) {
		struct xp_ready *entry = queue->batch.next++;
		struct xp_slot *slot = xp_ready_slot(entry);

		/* Files are checked by every wait. */
		if (slot && slot->mode != XP_MODE_UNPOLLABLE)
			xp_candidate_defer(queue, xp_token_fd(entry->token), slot,
			                   slot->enabled, entry->events);
	}
	xp_candidates_served(queue, served);
}
