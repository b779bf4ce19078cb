/*
 * Replaces the kernel's set by a new one.
 *
 * The kernel keeps reporting the entry of a closed file while a duplicate of the file is open, and
 * without its descriptor the entry cannot be removed.  Only a new set lacks the entry.
 */
#ifndef XP_CORE_RENEW_H
#define XP_CORE_RENEW_H

#include "core/queue.h"

/* Replace the set, attach all slots to the new one, and make sleeping threads leave the old one. */
void xp_renew_kernel_set(struct xpoll *queue);

/* Which slots xp_attach_slots attaches. */
enum xp_attach {
	XP_ATTACH_ALL,       /* all slots, to a new set */
	/* All slots, to the new set of a forked child; also watch the growth of files again. */
	XP_ATTACH_INHERITED,
	XP_ATTACH_MISSING,   /* slots that are missing from the set */
};

/*
 * Attach slots to the kernel's set.  Slots that cannot be attached for lack of memory or
 * descriptors stay missing, and the next wait tries again.  Returns 0 or the first error, such as
 * -ENOSPC.
 */
int xp_attach_slots(struct xpoll *queue, enum xp_attach which);

#endif
