/*
 * Replacing the kernel's set by a new one.
 *
 * The entry of a closed file keeps reporting while a duplicate of the file is open.  Only
 * a new set lacks it.
 */
#ifndef XP_CORE_RENEW_H
#define XP_CORE_RENEW_H

#include "core/queue.h"

/* Renew the set; threads that sleep have to come out afterwards. */
void xp_renew(struct xpoll *queue);
/*
 * Attach all slots to a new set.  inherited: in a forked child.  What the kernel has no
 * room for is attached by the next wait.
 */
int xp_attach_all(struct xpoll *queue, bool inherited);
/* Attach what the kernel had no room for; -ENOSPC, -ENOMEM. */
int xp_attach_rest(struct xpoll *queue);

#endif
