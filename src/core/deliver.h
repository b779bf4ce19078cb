/*
 * Delivery: from what fired to the caller's array, or to the batch of the
 * poll-like level.
 */
#ifndef XP_CORE_DELIVER_H
#define XP_CORE_DELIVER_H

#include "core/queue.h"

/* The kernel's entries, in order. */
void xp_deliver_fired(struct xpoll *queue, struct xp_wait *wait,
                      const struct xp_fired *fired, int count);

/* A slot was found in this state, by the kernel or by a check. */
void xp_deliver_slot(struct xpoll *queue, struct xp_wait *wait, int fd,
                     struct xp_slot *slot, uint32_t events);

/*
 * The report was harvested before the slot was changed last, or the slot was
 * reported in this call already: look again, at the filters that it is about.
 * A one-shot entry may be of the
 * arming before the change or of the one after it, which is then spent.
 */
void xp_deliver_outdated(struct xpoll *queue, int fd, struct xp_slot *slot,
                         unsigned filters);

/*
 * A filter was handed to the caller: end it, silence it, or check it again
 * before the next wait, as its mode says.
 */
void xp_deliver_handed(struct xpoll *queue, int fd, struct xp_slot *slot,
                       unsigned filter);
/* After the last of them: watch again what is still enabled. */
void xp_deliver_rearm(struct xpoll *queue, int fd, struct xp_slot *slot);

/* The file of this token turned out to be closed. */
void xp_deliver_gone(struct xpoll *queue, const struct xp_fired *fired);

/* Active registrations of the other sources. */
void xp_deliver_active(struct xpoll *queue, struct xp_wait *wait);

static inline bool xp_wait_full(const struct xp_wait *wait)
{
	return wait->len >= wait->cap;
}

#endif
