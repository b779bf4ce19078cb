/*
 * Descriptors of sources.  In place of registrations their slots have a pointer to a struct
 * xp_source_fd, in udata[0].
 */
#include "core/source_fd.h"

#include <errno.h>

#include "base/assert.h"
#include "core/ask.h"
#include "core/entry.h"
#include "core/marks.h"

int xp_source_fd_attach(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	uint32_t watch = POLLIN | XP_WATCH_SOURCE;
	uint64_t token = xp_slot_token(slot, fd);
	int rc = xp_entry_owns(queue, fd) ? -EINVAL
		: queue->ops->attach(queue->backend, fd, watch, token);

	if (rc == -EEXIST)
		rc = queue->ops->change(queue->backend, fd, watch, token);
	slot->armed = rc == 0 ? XP_BIT(XP_READ) : 0;
	return rc;
}

int xp_source_fd_watch(struct xpoll *queue, struct xp_source_fd *source_fd)
{
	struct xp_slot *slot = xp_slots_make(queue, source_fd->fd);
	int rc;

	if (!slot)
		return -ENOMEM;
	/* The program had registered this descriptor and closed it: drop those registrations. */
	if (slot->present)
		xp_entry_drop(queue, source_fd->fd, slot);
	rc = xp_source_fd_attach(queue, source_fd->fd, slot);
	if (rc < 0)
		return rc;
	slot->mode = XP_MODE_SOURCE;
	slot->udata[0].pointer = source_fd;
	xp_ask_soon(queue);
	return 0;
}

/* Empty the slot: reports of the source's descriptor become stale. */
static void source_slot_end(struct xp_slot *slot)
{
	slot->mode = XP_MODE_NONE;
	slot->armed = 0;
	slot->udata[0].pointer = NULL;
	xp_slot_renumber(slot);
}

void xp_source_fd_unwatch(struct xpoll *queue, struct xp_source_fd *source_fd)
{
	struct xp_slot *slot = xp_slots_get(queue, source_fd->fd);

	XP_ASSERT(slot->mode == XP_MODE_SOURCE && slot->udata[0].pointer == source_fd);
	(void)queue->ops->detach(queue->backend, source_fd->fd);
	source_slot_end(slot);
}

bool xp_source_fd_fired(struct xpoll *queue, struct xp_wait *wait, uint64_t token)
{
	struct xp_slot *slot = xp_slots_at(queue, xp_token_fd(token));
	struct xp_source_fd *source_fd;

	if (!slot || slot->mode != XP_MODE_SOURCE || !xp_slot_is_of(slot, token))
		return false;
	source_fd = slot->udata[0].pointer;
	XP_ASSERT(source_fd && source_fd->fd == xp_token_fd(token));
	xp_source_wait(queue, wait);
	source_fd->ready(queue, source_fd);
	xp_source_wait(queue, NULL);
	return true;
}

void xp_source_fds_forget(struct xpoll *queue)
{
	struct xp_slot *slot;

	for (int fd = 0; (slot = xp_slots_walk(queue, &fd)); fd++)
		if (slot->mode == XP_MODE_SOURCE)
			source_slot_end(slot);
}
