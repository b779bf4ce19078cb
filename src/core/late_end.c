/* The end of a call that may have left a change to be made without the lock. */
#include "core/late_end.h"

#include "base/assert.h"
#include "core/entry.h"

/*
 * The kernel has refused a late change: disable the filters of the main entry again, or end
 * the registrations if the descriptor is closed or another file.
 */
static void late_failed(struct xpoll *queue, const struct xp_late *late, int rc)
{
	struct xp_slot *slot = late->slot;

	xp_mutex_lock(&queue->lock);
	queue->counters.change_errors++;
	if (slot->arming == xp_token_arming(late->token)) {
		if (xp_is_gone(rc)) {
			xp_entry_drop(queue, late->fd, slot);
		} else {
			slot->armed &= slot->solo;
			xp_slot_disable(slot, ~(unsigned)slot->solo);
		}
	}
	xp_leave(queue);
}

static int late_make(struct xpoll *queue, const struct xp_late *late)
{
	int rc;

	XP_ASSERT(atomic_load(&late->slot->late) > 0);
	rc = queue->ops->change_unlocked(queue->backend, late->fd, late->watch, late->token);
	if (XP_LIKELY(rc == 0)) {
		/* The last access: xpoll_destroy does not wait for more. */
		atomic_fetch_sub_explicit(&late->slot->late, 1, memory_order_release);
		return 0;
	}
	/* A thread that waits for a late change has the lock; xpoll_destroy waits for writers. */
	atomic_fetch_add(&queue->wake.state, XP_WAKE_WRITER);
	atomic_fetch_sub_explicit(&late->slot->late, 1, memory_order_release);
	rc = rc == -EPERM ? -ENOENT : rc; /* another file, which the kernel refuses */
	late_failed(queue, late, rc);
	atomic_fetch_sub(&queue->wake.state, XP_WAKE_WRITER);
	return rc;
}

int xp_leave_and_make(struct xpoll *queue, int rc, const struct xp_late *late)
{
	int last;

	xp_leave(queue);
	last = late_make(queue, late);
	return xp_result(rc < 0 ? rc : last);
}
