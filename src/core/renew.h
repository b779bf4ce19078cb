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

/* Which slots xp_attach_slots attaches. */
enum xp_attach {
	XP_ATTACH_ALL,       /* all slots, to a new set */
	XP_ATTACH_INHERITED, /* the same in a forked child */
	XP_ATTACH_REST,      /* slots that are missing from the set */
};

/*
 * Attach slots to the kernel's set.  The next wait attaches slots for which the kernel had no
 * memory.  Returns 0 or the first error: -ENOSPC, -ENOMEM.
 */
int xp_attach_slots(struct xpoll *queue, enum xp_attach which);

#endif
