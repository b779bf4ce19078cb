/* Descriptors and moments of the sources. */
#include "core/watch.h"

#include "base/assert.h"
#include "base/time.h"
#include "core/interest.h"
#include "core/keeper.h"
#include "core/mark.h"
#include "os/sys.h"

void **xp_source_state(struct xpoll *queue, enum xp_source_id id)
{
	return &queue->sources[id].state;
}

void xp_source_set_due(struct xpoll *queue, enum xp_source_id id,
                       int64_t deadline_ns)
{
	queue->sources[id].due_ns = deadline_ns;
	queue->due_ns = XP_NEVER;
	queue->looked_at = false;
	for (int i = 0; i < XP_SOURCES; i++) {
		int64_t due_ns = queue->sources[i].due_ns;

		if (due_ns < queue->due_ns)
			queue->due_ns = due_ns;
		if (due_ns == XP_WHEN_LOOKED_AT)
			queue->looked_at = true;
	}
	if (xp_keeper_missing(queue))
		queue->look_wanted = queue->waiters > 0;
}

int64_t xp_source_now(struct xpoll *queue)
{
	if (queue->change_ns == XP_NOW)
		queue->change_ns = xp_sys_now();
	return queue->change_ns;
}

void xp_sources_run_due(struct xpoll *queue, int room)
{
	int64_t now_ns = xp_sys_now();

	if (now_ns < queue->due_ns && !queue->looked_at)
		return;
	for (int i = 0; xp_sources[i]; i++) {
		int64_t due_ns = queue->sources[xp_sources[i]->id].due_ns;

		if (due_ns <= now_ns || due_ns == XP_WHEN_LOOKED_AT)
			xp_sources[i]->due(queue, now_ns, room);
	}
	if (queue->sources[XP_SOURCE_NONE].due_ns <= now_ns)
		xp_marks_due(queue);
}

bool xp_source_exposed(const struct xpoll *queue)
{
	return queue->exposed;
}

void xp_sources_forget(struct xpoll *queue, int fd)
{
	for (int i = 0; xp_sources[i]; i++)
		if (xp_sources[i]->forget)
			xp_sources[i]->forget(queue, fd);
}

bool xp_sources_interrupted(struct xpoll *queue)
{
	for (int i = 0; xp_sources[i]; i++)
		if (xp_sources[i]->interrupted &&
		    *xp_source_state(queue, xp_sources[i]->id))
			xp_sources[i]->interrupted(queue);
	return !xp_list_empty(&queue->active);
}

void xp_sources_audit(struct xpoll *queue)
{
	for (int i = 0; xp_sources[i]; i++)
		if (xp_sources[i]->audit &&
		    *xp_source_state(queue, xp_sources[i]->id))
			xp_sources[i]->audit(queue);
}

void xp_source_unobserved(struct xpoll *queue)
{
	xp_count(&queue->counters.signals_unobserved);
}

bool xp_source_vnode_as_bsd(const struct xpoll *queue)
{
	return queue->vnode_as_bsd;
}

void xp_sources_await_unused(int fd)
{
	for (int i = 0; xp_sources[i]; i++)
		if (xp_sources[i]->unused)
			xp_sources[i]->unused(fd);
}

int xp_watch_add(struct xpoll *queue, struct xp_watch *watch)
{
	struct xp_slot *slot = xp_slots_make(&queue->slots, watch->fd);
	int rc;

	if (!slot)
		return -ENOMEM;
	/* The program has closed the file it had registered under this number. */
	if (slot->present)
		xp_interest_drop(queue, watch->fd, slot);
	rc = xp_interest_attach(queue, watch->fd, POLLIN | XP_WATCH_SOURCE,
	                        xp_slot_token(slot, watch->fd));
	if (rc < 0)
		return rc;
	slot->mode = XP_MODE_WATCH;
	slot->armed = XP_BIT(XP_READ);
	slot->udata[0].pointer = watch;
	/* The thread that looks next has not seen it. */
	queue->harvest_due = true;
	return 0;
}

void xp_watch_remove(struct xpoll *queue, struct xp_watch *watch)
{
	struct xp_slot *slot = xp_slots_get(&queue->slots, watch->fd);

	XP_ASSERT(slot->mode == XP_MODE_WATCH && slot->udata[0].pointer == watch);
	(void)queue->ops->detach(queue->backend, watch->fd);
	slot->mode = XP_MODE_NONE;
	slot->armed = 0;
	slot->udata[0].pointer = NULL;
	slot->generation++;
}

bool xp_watch_fired(struct xpoll *queue, int fd, uint32_t generation)
{
	struct xp_slot *slot = fd < 0 ? NULL : xp_slots_at(&queue->slots, fd);
	struct xp_watch *watch;

	if (!slot || slot->mode != XP_MODE_WATCH ||
	    slot->generation != generation)
		return false;
	watch = slot->udata[0].pointer;
	watch->ready(queue, watch);
	return true;
}

int xp_watch_attach(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	/* The source knows what it has there: nobody need ask the kernel. */
	int rc = xp_interest_attach(queue, fd, POLLIN | XP_WATCH_SOURCE,
	                            xp_slot_token(slot, fd));

	slot->armed = rc == 0 ? XP_BIT(XP_READ) : 0;
	return rc;
}

void xp_watch_forget_all(struct xpoll *queue)
{
	int last = queue->slots.pages_len << XP_PAGE_BITS;

	for (int fd = 0; fd < last; fd++) {
		struct xp_slot *slot = xp_slots_at(&queue->slots, fd);

		if (!slot || slot->mode != XP_MODE_WATCH)
			continue;
		slot->mode = XP_MODE_NONE;
		slot->armed = 0;
		slot->udata[0].pointer = NULL;
		slot->generation++;
	}
}
