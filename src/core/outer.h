/*
 * The descriptor of the queue, which xpoll_fd returns.
 *
 * It has the kernel's set in it.  Attention makes it readable for what the set does not
 * report: active sources, candidates, files, what is left of a batch, a pending wake.
 */
#ifndef XP_CORE_OUTER_H
#define XP_CORE_OUTER_H

#include "core/queue.h"

/* Make it, or return it; -ENOTSUP ... */
int xp_outer_open(struct xpoll *queue);
/* Make the descriptor of an exposed queue readable, or no longer. */
void xp_outer_update(struct xpoll *queue);
/* In a forked child: nobody has called xpoll_fd. */
void xp_outer_forget(struct xpoll *queue);

#endif
