/* The poll-like level's side of delivery. */
#ifndef XP_CORE_POLLIKE_H
#define XP_CORE_POLLIKE_H

#include "core/queue.h"

/* A descriptor was found in this state: into the batch, if it is wanted. */
void xp_poll_deliver(struct xpoll *queue, struct xp_wait *wait, int fd,
                     struct xp_slot *slot, uint32_t events);

/* What xpoll_revents has not handed out is to be found again. */
void xp_poll_return_batch(struct xpoll *queue);

#endif
