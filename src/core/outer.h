/*
 * The outer descriptor, which xpoll_fd returns, and which other event loops may poll.
 *
 * The descriptor is readable while the kernel's set has a report.  "Attention" makes it readable
 * also for events that the set does not report: active sources, candidates (slots to check by
 * poll(2)), files, the rest of a batch, a pending xpoll_wake.
 */
#ifndef XP_CORE_OUTER_H
#define XP_CORE_OUTER_H

#include "core/queue.h"

/* Returns the outer descriptor, which the first call makes; -ENOTSUP if the back end has none. */
int xp_outer_open(struct xpoll *queue);
/*
 * Make the outer descriptor readable or not, as the present state of the queue requires.  Called by
 * each call that leaves the queue, and before sleeps, once xpoll_fd was called.
 */
void xp_outer_update(struct xpoll *queue);
/* In a forked child: reset queue->outer, because nobody has called xpoll_fd there. */
void xp_outer_forget(struct xpoll *queue);

#endif
