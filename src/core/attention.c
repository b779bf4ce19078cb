/* When xpoll_fd is readable. */
#include "core/attention.h"

#include "base/assert.h"
#include "base/time.h"
#include "core/candidate.h"
#include "core/recheck.h"
#include "core/unpollable.h"

void xp_update_attention(struct xpoll *queue)
{
	const struct xp_outer_ops *outer = queue->ops->outer;
	bool pending;

	XP_ASSERT(queue->exposed && outer);
	if (queue->threads.dying)
		return;
	/*
	 * Whether candidates are ready nobody knows yet: leave them to the kernel,
	 * which makes the descriptor readable if one is.  Not while it is readable
	 * already, nor for those that were ready a moment ago: to be readable once
	 * in vain does no harm.
	 */
	if (queue->candidates.len > 0 && !queue->attention.on &&
	    !xp_candidates_still_ready(queue))
		xp_candidates_publish(queue);
	pending = queue->candidates.len > 0 || !xp_list_empty(&queue->registrations.active) ||
		xp_batch_left(queue) ||
		xp_wake_is_pending(queue) || xp_unpollable_ready(queue);
	/*
	 * Candidates come and go with each event, and off and on again would be
	 * two system calls each time; so it stays on for some calls.
	 */
	if (pending)
		queue->attention.vain = queue->candidates.len > 0 ? 0
			: XP_UNATTENDED_MOST;
	else if (queue->attention.on && ++queue->attention.vain < XP_UNATTENDED_MOST)
		pending = true;
	/*
	 * The back end needs the moment only while the descriptor is not readable
	 * anyway.  Where it cannot be set, readable too often is better than too
	 * late.
	 */
	if (queue->due_ns != XP_NEVER)
		queue->attention.alarmed = true;
	if (!pending && queue->attention.alarmed &&
	    outer->set_alarm(queue->backend, queue->due_ns) < 0)
		pending = true;
	if (pending == queue->attention.on) {
		if (pending && ++queue->attention.calls == XP_ATTENDED_LONG)
			(void)outer->set_attention(queue->backend, XP_ATTENTION_LASTS);
	} else if (outer->set_attention(queue->backend, pending ? XP_ATTENTION_ON
	                                                       : XP_ATTENTION_NONE) == 0) {
		queue->attention.on = pending;
		queue->attention.calls = 0;
	}
}
