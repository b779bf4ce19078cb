/*
 * Replaces the kernel's set by a new one.
 *
 * The entry of a closed file keeps reporting while a duplicate of the file is open, and cannot be
 * removed.  Only a new set lacks it.
 */
#ifndef XP_CORE_RENEW_H
#define XP_CORE_RENEW_H

#include "core/queue.h"

/* Attach all slots to a new set, and make the sleeping threads leave the old one. */
void xp_renew(struct xpoll *queue);
/*
 * Attach all slots to a new, empty set.  inherited: in a forked child.  The next wait attaches
 * slots for which the kernel had no memory.  Returns 0 or the first error.
 */
int xp_attach_all(struct xpoll *queue, bool inherited);
/* Attach the slots that are missing from the set; -ENOSPC, -ENOMEM: some are still missing. */
int xp_attach_rest(struct xpoll *queue);

#endif
