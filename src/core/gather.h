/*
 * What a wait finds beside the kernel's set: due sources, active registrations, files
 * that the kernel cannot wait for, candidates.
 *
 * All with the queue's lock held.
 */
#ifndef XP_CORE_GATHER_H
#define XP_CORE_GATHER_H

#include "core/queue.h"
#include "os/sys.h"

/*
 * Before candidates are checked, where there are other threads or anything unusual.
 * 1: they are, with what else there is; 0: nothing but candidates can be there; -EBADF;
 * -ENOMEM, -ENOSPC: what was taken out of the kernel's set cannot be put back.
 */
int xp_gather(struct xpoll *queue, struct xp_wait *wait, bool alone);

/*
 * Deliver what sources have since the kernel returned rc.  Returns rc, or -EINTR if a source has
 * called xp_host.interrupted.
 */
int xp_gather_reported(struct xpoll *queue, struct xp_wait *wait, int rc);

/* Is a source's moment here, though this thread may have slept beyond it? */
static inline bool xp_due_passed(const struct xpoll *queue)
{
	return XP_UNLIKELY(queue->due_ns != XP_NEVER) &&
		xp_sys_now() >= queue->due_ns;
}

#endif
