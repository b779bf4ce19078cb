/* Into the batch, and back to where it can be found again. */
#include "core/batch.h"

#include "core/candidate.h"
#include "core/interest.h"
#include "core/news.h"

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

/* It is in the batch already: what else fired of it comes with the same entry. */
static void poll_deliver_more(struct xpoll *queue, struct xp_wait *wait, int fd,
                              struct xp_slot *slot, uint32_t events)
{
	bool single = !(slot->enabled & (slot->enabled - 1u));
	bool known = single && !(events & (POLLERR | POLLHUP | POLLRDHUP));

	slot->delivered.spent = 1;
	for (int i = 0; i < wait->len && !known; i++) {
		known = xp_token_fd(queue->batch.ready[i].token) == fd;
		if (known)
			queue->batch.ready[i].events |= events;
	}
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
