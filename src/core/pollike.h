/* The poll-like level's side of delivery. */
#ifndef XP_CORE_POLLIKE_H
#define XP_CORE_POLLIKE_H

#include "core/queue.h"

/* What of these bits poll(2) would report for what is enabled. */
uint32_t xp_poll_bits(const struct xp_slot *slot, uint32_t events);

/* Put a descriptor into the batch, or keep it if that is full. */
void xp_poll_batch(struct xpoll *queue, struct xp_wait *wait, int fd,
                   struct xp_slot *slot, uint32_t events);

/* What xpoll_revents has not handed out is to be found again. */
void xp_poll_return_batch(struct xpoll *queue);

#endif
