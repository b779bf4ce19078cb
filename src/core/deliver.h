/*
 * Delivery: from what fired to the caller's array, or to the batch of the
 * poll-like level.
 */
#ifndef XP_CORE_DELIVER_H
#define XP_CORE_DELIVER_H

#include "core/batch.h"
#include "core/entry.h"
#include "core/queue.h"

enum {
	/*
	 * Every so many deliveries of a descriptor its number is compared with
	 * the kernel's entry: a closed file of which a duplicate is open keeps
	 * reporting, and only this shows it.
	 */
	XP_SAMPLE_EVERY = 64,
};

/* A slot was found in this state, by the kernel or by a check. */
void xp_deliver_slot(struct xpoll *queue, struct xp_wait *wait, int fd,
                     struct xp_slot *slot, uint32_t events);

/* For xp_deliver: at the event level. */
void xp_deliver_event(struct xpoll *queue, struct xp_wait *wait, int fd,
                      struct xp_slot *slot, uint32_t events);

/* As xp_deliver_slot, of one that has no low-water marks. */
static XP_INLINE void xp_deliver(struct xpoll *queue, struct xp_wait *wait, bool poll_level,
                                 uint64_t token, struct xp_slot *slot, uint32_t events,
                                 bool first)
{
	if (poll_level)
		xp_poll_deliver(queue, wait, token, slot, events, first);
	else
		xp_deliver_event(queue, wait, xp_token_fd(token), slot, events);
}

/* Is it a report of the main entry from before the last change of that? */
static inline bool xp_fired_is_before(const struct xp_fired *fired, const struct xp_slot *slot)
{
	return slot->tag != xp_token_tag(fired->token) && !(fired->events & XP_FIRED_SOLO_ANY);
}

/* For xp_deliver_fired: any entry of the kernel's. */
void xp_deliver_rare(struct xpoll *queue, struct xp_wait *wait, const struct xp_fired *fired);

/* The slot of an entry of the kernel's; NULL: it may have none. */
static XP_INLINE struct xp_slot *xp_fired_slot(const struct xpoll *queue,
                                               const struct xp_fired *fired)
{
	if (XP_UNLIKELY(fired->token == XP_TOKEN_WAKE ||
	                fired->events & (POLLNVAL | XP_FIRED_SOLO_ANY)))
		return NULL;
	return xp_slots_get(&queue->slots, xp_token_fd(fired->token));
}

/*
 * Is there more to it than to deliver it?  first: it is one of the first that the wait
 * finds, each at most once (poll and select look twice), and nothing has been changed
 * since the wait began.
 */
static XP_INLINE bool xp_fired_is_rare(const struct xpoll *queue, const struct xp_wait *wait,
                                       const struct xp_fired *fired, const struct xp_slot *slot,
                                       bool first)
{
	return slot->tag != xp_token_tag(fired->token) ||
		slot->mode > XP_MODE_EDGE || slot->lowat.filters || slot->solo ||
		(!first && xp_slot_is_outdated(queue, slot, wait));
}

/* Its slot, if it is only to be delivered; NULL: it was. */
static XP_INLINE struct xp_slot *xp_fired_usual(struct xpoll *queue, struct xp_wait *wait,
                                                const struct xp_fired *fired, bool first)
{
	struct xp_slot *slot = xp_fired_slot(queue, fired);

	if (XP_UNLIKELY(!slot || xp_fired_is_rare(queue, wait, fired, slot, first))) {
		xp_deliver_rare(queue, wait, fired);
		return NULL;
	}
	if (XP_UNLIKELY(++slot->delivered.count % XP_SAMPLE_EVERY == 0)) {
		slot->delivered.count--;
		xp_deliver_rare(queue, wait, fired);
		return NULL;
	}
	XP_ASSERT(slot->present && !xp_slot_is_outdated(queue, slot, wait));
	return slot;
}

/* For xp_deliver_fired: at the event level. */
void xp_deliver_fired_events(struct xpoll *queue, struct xp_wait *wait,
                             const struct xp_fired *fired, int count);

/* The kernel's entries, in order; inline: what is usual takes few instructions. */
static XP_INLINE void xp_deliver_fired(struct xpoll *queue, struct xp_wait *wait,
                                       bool poll_level, const struct xp_fired *fired, int count,
                                       bool first)
{
	if (!poll_level) {
		xp_deliver_fired_events(queue, wait, fired, count);
		return;
	}
	for (; count > 0; fired++, count--) {
		struct xp_slot *slot = xp_fired_usual(queue, wait, fired, first);

		if (XP_LIKELY(slot != NULL))
			xp_poll_deliver(queue, wait, fired->token, slot, fired->events, first);
	}
}

/* Active registrations of the other sources. */
void xp_deliver_active(struct xpoll *queue, struct xp_wait *wait);

#endif
