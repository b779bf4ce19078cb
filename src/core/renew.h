/* Making the kernel's set of descriptors again. */
#ifndef XP_CORE_RENEW_H
#define XP_CORE_RENEW_H

#include "core/queue.h"

/*
 * Dead entries report for ever and cannot be removed by their number: start
 * with an empty set and put in what is alive.  Lock held.
 */
void xp_renew(struct xpoll *queue);

/*
 * Attach every slot to an empty kernel set; inherited: in a forked child.
 * What cannot be attached for lack of something is left for later.
 */
int xp_renew_attach_all(struct xpoll *queue, bool inherited);
/* Attach those that were left. */
int xp_renew_attach_rest(struct xpoll *queue);

#endif
