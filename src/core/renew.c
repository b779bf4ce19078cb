/* Renewing the kernel's set. */
#include "core/renew.h"

#include "base/assert.h"
#include "core/interest.h"
#include "core/sleep.h"

/*
 * Drop the slots whose number is another file's by now.  The back end that can
 * ask its old set does so when they are in the new one: in the other order a
 * number that is closed and opened anew in between would bring a file in that
 * nobody has registered.
 */
static void renew_confirm(struct xpoll *queue)
{
	bool can_ask = queue->ops->renew_knows != NULL;
	int last = queue->slots.pages_len << XP_PAGE_BITS;

	for (int fd = 0; fd < last; fd++) {
		struct xp_slot *slot = xp_slots_at(&queue->slots, fd);
		bool level_or_lazy = slot && (slot->mode == XP_MODE_LEVEL ||
		                              slot->mode == XP_MODE_LAZY);

		if (!slot || !slot->present || slot->mode == XP_MODE_FILE ||
		    (slot->mode == XP_MODE_NONE && !slot->enabled))
			continue;
		if (can_ask && !queue->ops->renew_knows(queue->backend, fd))
			xp_interest_forget(queue, fd);
		else if (!can_ask && level_or_lazy)
			(void)xp_interest_push(queue, fd, slot,
			                       (enum xp_mode)slot->mode, slot->armed);
	}
}

void xp_renew(struct xpoll *queue)
{
	const struct xp_backend_ops *ops = queue->ops;

	xp_mutex_assert_held(&queue->lock);
	if (!ops->renew)
		return;
	if (!ops->renew_knows)
		renew_confirm(queue);
	if (ops->renew(queue->backend) < 0)
		return; /* No descriptor free: tried again when it hurts again. */
	xp_count(&queue->counters.rebuilds);
	/* What the kernel has no memory for the next wait attaches, or says so. */
	(void)xp_interest_attach_all(queue, false);
	if (ops->renew_knows) {
		renew_confirm(queue);
		ops->renew_end(queue->backend);
	}
	xp_kick_all(queue);
}
