/* Descriptors of the sources. */
#include "core/source_fd.h"

#include "base/assert.h"
#include "core/entry.h"

int xp_source_fd_add(struct xpoll *queue, struct xp_source_fd *source_fd)
{
	struct xp_slot *slot = xp_slots_make(&queue->slots, source_fd->fd);
	int rc;

	if (!slot)
		return -ENOMEM;
	/* The program has closed the file it had registered under this number. */
	if (slot->present)
		xp_entry_drop(queue, source_fd->fd, slot);
	rc = xp_entry_attach(queue, source_fd->fd, POLLIN | XP_WATCH_SOURCE,
	                        xp_slot_token(slot, source_fd->fd));
	if (rc < 0)
		return rc;
	slot->mode = XP_MODE_SOURCE;
	slot->armed = XP_BIT(XP_READ);
	slot->udata[0].pointer = source_fd;
	queue->watches++;
	queue->sourced = true;
	/* The thread that checks next has not seen it. */
	queue->ask.due = true;
	return 0;
}

void xp_source_fd_remove(struct xpoll *queue, struct xp_source_fd *source_fd)
{
	struct xp_slot *slot = xp_slots_get(&queue->slots, source_fd->fd);

	XP_ASSERT(slot->mode == XP_MODE_SOURCE && slot->udata[0].pointer == source_fd);
	(void)queue->ops->detach(queue->backend, source_fd->fd);
	slot->mode = XP_MODE_NONE;
	slot->armed = 0;
	slot->udata[0].pointer = NULL;
	slot->tag = xp_tag_of_next_generation(slot->tag);
	queue->watches--;
}

bool xp_source_fd_fired(struct xpoll *queue, uint64_t token)
{
	int fd = xp_token_fd(token);
	struct xp_slot *slot = fd < 0 ? NULL : xp_slots_at(&queue->slots, fd);
	struct xp_source_fd *source_fd;

	if (!slot || slot->mode != XP_MODE_SOURCE || !xp_slot_is_of(slot, token))
		return false;
	source_fd = slot->udata[0].pointer;
	source_fd->ready(queue, source_fd);
	return true;
}

int xp_source_fd_attach(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	/* The source knows what it has there: nobody need ask the kernel. */
	int rc = xp_entry_attach(queue, fd, POLLIN | XP_WATCH_SOURCE,
	                            xp_slot_token(slot, fd));

	slot->armed = rc == 0 ? XP_BIT(XP_READ) : 0;
	return rc;
}

void xp_source_fd_forget_all(struct xpoll *queue)
{
	struct xp_slot *slot;

	queue->watches = 0;
	for (int fd = 0; (slot = xp_slots_walk(&queue->slots, &fd)); fd++) {
		if (slot->mode != XP_MODE_SOURCE)
			continue;
		slot->mode = XP_MODE_NONE;
		slot->armed = 0;
		slot->udata[0].pointer = NULL;
		slot->tag = xp_tag_of_next_generation(slot->tag);
	}
}
