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

/* The file of this token turned out to be closed. */
void xp_deliver_gone(struct xpoll *queue, const struct xp_fired *fired);

/* Active registrations of the other sources. */
void xp_deliver_active(struct xpoll *queue, struct xp_wait *wait);

#endif
