/* Renewing the kernel's set. */
#include "core/renew.h"

#include "base/assert.h"
#include "core/interest.h"
#include "core/wait.h"

/* Ask the old set about each slot, and drop those whose file is gone. */
static void renew_confirm(struct xpoll *queue)
{
	int last = queue->slots.pages_len << XP_PAGE_BITS;

	for (int fd = 0; fd < last; fd++) {
		struct xp_slot *slot = xp_slots_at(&queue->slots, fd);

		if (slot && (slot->mode == XP_MODE_LEVEL ||
		             slot->mode == XP_MODE_LAZY))
			(void)xp_interest_push(queue, fd, slot,
			                       (enum xp_mode)slot->mode, slot->armed);
	}
}

void xp_renew(struct xpoll *queue)
{
	xp_mutex_assert_held(&queue->lock);
	if (!queue->ops->renew)
		return;
	renew_confirm(queue);
	if (queue->ops->renew(queue->backend) < 0)
		return; /* No descriptor free: tried again when it hurts again. */
	xp_count(&queue->counters.rebuilds);
	xp_interest_attach_all(queue);
	xp_kick_all(queue);
}
