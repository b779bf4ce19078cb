/*
 * struct xp_host: the functions of the queue that sources may call; the descriptors that the queue
 * watches for sources.
 */
#include "core/ask.h"
#include "core/due.h"
#include "core/entry.h"
#include "core/sources.h"
#include "core/threads.h"

/* --- Descriptors of sources --------------------------------------------------------------- */

/*
 * The slot of a source's descriptor has mode XP_MODE_SOURCE, and udata[0] points to the struct
 * xp_source_fd.
 */
int xp_source_fd_attach(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	const struct xp_source_fd *source_fd = slot->udata[0].pointer;
	uint32_t watch = POLLIN | XP_WATCH_SOURCE | (source_fd->once ? XP_WATCH_ONESHOT : 0);
	uint64_t token = xp_slot_token(slot, fd);
	int rc = xp_queue_owns_fd(queue, fd) ? -EINVAL
		: queue->ops->attach(queue->backend, fd, watch, token);

	if (rc == -EEXIST)
		rc = queue->ops->change(queue->backend, fd, watch, token);
	slot->armed = rc == 0 ? XP_BIT(XP_READ) : 0;
	return rc;
}

static int host_watch(struct xpoll *queue, struct xp_source_fd *source_fd)
{
	struct xp_slot *slot = xp_slots_make(queue, source_fd->fd);
	int rc;

	if (!slot)
		return -ENOMEM;
	/*
	 * If the program had registered a descriptor of this number and closed it, drop its
	 * registrations.
	 */
	if (slot->present)
		xp_entry_drop(queue, source_fd->fd, slot);
	slot->udata[0].pointer = source_fd;
	rc = xp_source_fd_attach(queue, source_fd->fd, slot);
	if (rc < 0)
		return rc;
	slot->mode = XP_MODE_SOURCE;
	/*
	 * slot->stale counts reports of registrations that have ended: several are a sign of a
	 * closed file that the kernel still reports.  But when many processes end at once, reports
	 * of their descriptors are fetched before these are unwatched, which is no such sign.  So
	 * reset the count.
	 */
	slot->stale = 0;
	xp_ask_soon(queue);
	return 0;
}

/* Empty the slot: reports of the source's descriptor become stale. */
static void source_slot_end(struct xp_slot *slot)
{
	slot->mode = XP_MODE_NONE;
	slot->armed = 0;
	slot->udata[0].pointer = NULL;
	xp_slot_invalidate_tokens(slot);
}

static void host_unwatch(struct xpoll *queue, struct xp_source_fd *source_fd)
{
	struct xp_slot *slot = xp_slots_get(queue, source_fd->fd);

	XP_ASSERT(slot->mode == XP_MODE_SOURCE && slot->udata[0].pointer == source_fd);
	/*
	 * Without `ready` the source has made sure that this one-shot entry of epoll has reported
	 * or is about to: leave the entry in the kernel, where it is silent after that, and ends
	 * when the descriptor is closed everywhere.  Reports that come now are dropped.  On other
	 * back ends always remove the descriptor from their table of what they watch.
	 */
	if (source_fd->ready || queue->ops->caps & XP_CAP_FREE_CHANGE)
		(void)queue->ops->detach(queue->backend, source_fd->fd);
	source_slot_end(slot);
}

void xp_source_fds_forget(struct xpoll *queue)
{
	struct xp_slot *slot;

	for (int fd = 0; (slot = xp_slots_walk(queue, &fd)); fd++)
		if (slot->mode == XP_MODE_SOURCE)
			source_slot_end(slot);
}

/* --- Other functions ---------------------------------------------------------------------- */

static bool host_outer_in_use(const struct xpoll *queue)
{
	return queue->outer.in_use;
}

static bool host_awaited(const struct xpoll *queue)
{
	return queue->outer.in_use || xp_has_sleepers(queue);
}

static void host_count_unobserved(struct xpoll *queue)
{
	queue->stats.signals_unobserved++;
}

static bool host_unblocks_signal(const struct xpoll *queue, unsigned number)
{
	const struct xp_wait *wait = queue->source_wait;
	const sigset_t *mask = wait ? xp_wait_mask(wait) : NULL;

	return mask && !xp_sys_signal_is_blocked((int)number, mask);
}

static void host_interrupted(struct xpoll *queue)
{
	XP_ASSERT(queue->source_wait);
	queue->source_wait->interrupted = true;
}

static bool host_vnode_as_bsd(const struct xpoll *queue)
{
	return queue->vnode_as_bsd;
}

const struct xp_host xp_host = {
	.set_active = xp_registration_set_active,
	.wait_generation = xp_wait_generation,
	.find = xp_registration_find,
	.spawn = xp_registration_spawn,
	.end = xp_registration_end,
	.state = xp_source_state,
	.set_due = xp_due_set,
	.now = xp_sources_now,
	.outer_in_use = host_outer_in_use,
	.set_probed = xp_sources_set_probed,
	.awaited = host_awaited,
	.vnode_as_bsd = host_vnode_as_bsd,
	.count_unobserved = host_count_unobserved,
	.unblocks_signal = host_unblocks_signal,
	.interrupted = host_interrupted,
	.watch = host_watch,
	.unwatch = host_unwatch,
};
