/* struct xp_host: the functions of the queue that sources may call. */
#include "base/assert.h"
#include "core/due.h"
#include "core/marks.h"
#include "core/source_fd.h"
#include "core/sources.h"
#include "core/threads.h"
#include "sys/sys.h"

static bool host_outer_in_use(const struct xpoll *queue)
{
	return queue->outer.in_use;
}

static bool host_awaited(const struct xpoll *queue)
{
	return queue->outer.in_use || xp_has_sleepers(queue);
}

static void host_unobserved(struct xpoll *queue)
{
	xp_count(&queue->counters.signals_unobserved);
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
	.unobserved = host_unobserved,
	.unblocks_signal = host_unblocks_signal,
	.interrupted = host_interrupted,
	.watch = xp_source_fd_watch,
	.unwatch = xp_source_fd_unwatch,
};
