/*
 * What waits of the poll-like level return: the batch of xpoll_wait, which xpoll_revents
 * hands out, and the array of xpoll_pwait.
 */
#ifndef XP_CORE_BATCH_H
#define XP_CORE_BATCH_H

#include "core/entry.h"
#include "core/queue.h"

extern const uint16_t xp_poll_masks[64];

/* What of these bits poll(2) would report for what is enabled. */
static XP_INLINE uint32_t xp_poll_bits(const struct xp_slot *slot, uint32_t events)
{
	return events & xp_poll_masks[slot->enabled | slot->requested];
}

/* The filters that a report of these bits is about. */
static XP_INLINE unsigned xp_poll_filters(const struct xp_slot *slot, uint32_t bits)
{
	unsigned enabled = slot->enabled;

	/* A single one needs no name. */
	if (XP_LIKELY(!(enabled & (enabled - 1))) || bits & (POLLERR | POLLHUP))
		return enabled;
	return xp_entry_filters(bits) & enabled;
}

/*
 * The program gets these filters of a report with these bits: their modes take effect, and
 * what it says of disabled filters is kept.
 */
void xp_poll_handed(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters,
                    uint32_t events);

/* Append a record to the caller's array; the filters are handed to the program with it. */
void xp_ready_append(struct xpoll *queue, struct xp_wait *wait, int fd, struct xp_slot *slot,
                     uint32_t events);

/* It is not wanted, in the batch already, or there is no room. */
void xp_poll_deliver_rare(struct xpoll *queue, struct xp_wait *wait, int fd,
                          struct xp_slot *slot, uint32_t events);

/*
 * A descriptor was found in this state: into the batch or the array, if it is wanted.  first: it is
 * not in there, and there is room.
 */
static XP_INLINE void xp_poll_deliver(struct xpoll *queue, struct xp_wait *wait, uint64_t token,
                                      struct xp_slot *slot, uint32_t events, bool first)
{
	XP_ASSERT(!first || (slot->delivered.epoch != wait->wait_epoch && !xp_wait_full(wait)));
	if (XP_UNLIKELY(!xp_poll_bits(slot, events)) ||
	    (!first && XP_UNLIKELY(slot->delivered.epoch == wait->wait_epoch ||
	                           xp_wait_full(wait)))) {
		xp_poll_deliver_rare(queue, wait, xp_token_fd(token), slot, events);
		return;
	}
	slot->history.fruitless = 0;
	slot->delivered.spent = 1;
	slot->delivered.epoch = wait->wait_epoch;
	if (!first) /* For `first` xp_ask_kernel sets it, by how many there are. */
		wait->news = true;
	if (XP_UNLIKELY(wait->ready != NULL)) {
		xp_ready_append(queue, wait, xp_token_fd(token), slot, events);
		return;
	}
	wait->len++;
	*queue->batch.end++ = (struct xp_ready){
		.slot = slot,
		.token = token,
		.events = events,
	};
}

/* What xpoll_revents has not handed out is to be found again. */
void xp_poll_return_batch(struct xpoll *queue);

/* Begin another batch. */
static XP_INLINE void xp_batch_renew(struct xpoll *queue)
{
	if (XP_UNLIKELY(xp_batch_left(queue)))
		xp_poll_return_batch(queue);
	xp_batch_begin(queue, 0);
}

/* The slot of an entry, if its registration still stands. */
static inline struct xp_slot *xp_ready_slot(const struct xp_ready *entry)
{
	struct xp_slot *slot = entry->slot;

	return xp_slot_is_of(slot, entry->token) ? slot : NULL;
}

#endif
