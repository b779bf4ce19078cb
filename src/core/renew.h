/* Making the kernel's set of descriptors anew. */
#ifndef XP_CORE_RENEW_H
#define XP_CORE_RENEW_H

#include "core/queue.h"

/*
 * Dead entries report for ever and cannot be removed by their number: start
 * with an empty set and put in what is alive.  Lock held.
 */
void xp_renew(struct xpoll *queue);

#endif
