/* All that sources may call of the queue, and their descriptors. */
#include "core/host.h"

#include <errno.h>

#include "base/assert.h"
#include "core/ask.h"
#include "core/due.h"
#include "core/entry.h"
#include "core/moment.h"
#include "core/sources.h"
#include "os/sys.h"

static void host_activate(struct xpoll *queue, struct xp_registration *reg)
{
	xp_registration_set_active(queue, reg, true);
}

static void host_deactivate(struct xpoll *queue, struct xp_registration *reg)
{
	xp_registration_set_active(queue, reg, false);
}

static void host_confirmed(const struct xpoll *queue, struct xp_registration *reg)
{
	reg->confirmed = xp_moment(queue);
}

static void **host_state(struct xpoll *queue, enum xp_source_id id)
{
	return &queue->sources[id].state;
}

static int64_t host_now(struct xpoll *queue)
{
	if (queue->change_ns == XP_NOW)
		queue->change_ns = xp_sys_now();
	return queue->change_ns;
}

static bool host_exposed(const struct xpoll *queue)
{
	return queue->outer.exposed;
}

static void host_set_probed(struct xpoll *queue)
{
	queue->probed = true;
}

static bool host_awaited(const struct xpoll *queue)
{
	return queue->outer.exposed || queue->threads.waiters > 0;
}

/* It grows when the kernel is about to be asked, and when a thread is back from there. */
static uint64_t host_harvest(const struct xpoll *queue)
{
	return queue->counters.syscalls_wait + queue->threads.sleeps;
}

static void host_unobserved(struct xpoll *queue)
{
	xp_count(&queue->counters.signals_unobserved);
}

static bool host_lets_in(const struct xpoll *queue, unsigned number)
{
	const struct xp_wait *wait = queue->source_wait;

	return wait && wait->mask && !xp_sys_signal_is_blocked((int)number, wait->mask);
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

/* --- Their descriptors ------------------------------------------------------------ */

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

static int host_watch(struct xpoll *queue, struct xp_source_fd *source_fd)
{
	struct xp_slot *slot = xp_slots_make(&queue->slots, source_fd->fd);
	int rc;

	if (!slot)
		return -ENOMEM;
	/* The program has closed the file that was registered under this number. */
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

static void source_slot_end(struct xp_slot *slot)
{
	slot->mode = XP_MODE_NONE;
	slot->armed = 0;
	slot->udata[0].pointer = NULL;
	slot->generation++;
}

static void host_unwatch(struct xpoll *queue, struct xp_source_fd *source_fd)
{
	struct xp_slot *slot = xp_slots_get(&queue->slots, source_fd->fd);

	XP_ASSERT(slot->mode == XP_MODE_SOURCE && slot->udata[0].pointer == source_fd);
	(void)queue->ops->detach(queue->backend, source_fd->fd);
	source_slot_end(slot);
}

bool xp_source_fd_fired(struct xpoll *queue, struct xp_wait *wait, uint64_t token)
{
	struct xp_slot *slot = xp_slots_at(&queue->slots, xp_token_fd(token));
	struct xp_source_fd *source_fd;

	if (!slot || slot->mode != XP_MODE_SOURCE || !xp_slot_is_of(slot, token))
		return false;
	source_fd = slot->udata[0].pointer;
	xp_source_wait(queue, wait);
	source_fd->ready(queue, source_fd);
	xp_source_wait(queue, NULL);
	return true;
}

void xp_source_fds_forget(struct xpoll *queue)
{
	struct xp_slot *slot;

	for (int fd = 0; (slot = xp_slots_walk(&queue->slots, &fd)); fd++)
		if (slot->mode == XP_MODE_SOURCE)
			source_slot_end(slot);
}

const struct xp_host xp_host = {
	.activate = host_activate,
	.deactivate = host_deactivate,
	.confirmed = host_confirmed,
	.find = xp_registration_find,
	.spawn = xp_registration_spawn,
	.end = xp_registration_end,
	.state = host_state,
	.set_due = xp_due_set,
	.now = host_now,
	.exposed = host_exposed,
	.set_probed = host_set_probed,
	.awaited = host_awaited,
	.harvest = host_harvest,
	.vnode_as_bsd = host_vnode_as_bsd,
	.unobserved = host_unobserved,
	.lets_in = host_lets_in,
	.interrupted = host_interrupted,
	.watch = host_watch,
	.unwatch = host_unwatch,
};
