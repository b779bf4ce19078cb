/* When xpoll_fd need not stay readable for what may follow. */
#ifndef XP_CORE_OUTER_REASON_H
#define XP_CORE_OUTER_REASON_H

#include "core/queue.h"

/* A registration ended, or a wait found nothing: it is readable for a reason only. */
static inline void xp_outer_settle(struct xpoll *queue)
{
	queue->outer.patience = 0;
}

#endif
