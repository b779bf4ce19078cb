/* The calls that end the waits of other threads. */
#include <errno.h>

#include "base/result.h"
#include "core/enter.h"
#include "core/sleep.h"

int xpoll_wake(struct xpoll *queue)
{
	unsigned state;

	if (!queue)
		return xp_result(-EINVAL);
	if (queue->process != xp_process_current())
		return xp_result(-EBADF);
	state = atomic_load(&queue->wake.state);
	while (!(state & XP_WAKE_PENDING)) {
		unsigned next = (state | XP_WAKE_PENDING) + XP_WAKE_WRITER;

		if (!atomic_compare_exchange_weak(&queue->wake.state, &state, next))
			continue;
		queue->ops->wake(queue->backend);
		/* Nothing of the queue after this: who returned for it may destroy it. */
		atomic_fetch_sub(&queue->wake.state, XP_WAKE_WRITER);
		break;
	}
	return 0;
}

/*
 * One sleeper is kicked here, and each that comes out kicks the next (xp_kick_all,
 * xp_kick_next); followers are signalled together.  xp_wait_over, or xp_turn_take, ends
 * the wait of each.
 */
int xpoll_wake_all(struct xpoll *queue)
{
	int rc = queue ? xp_enter(queue) : -EINVAL;

	if (rc < 0)
		return xp_result(rc);
	queue->wake.all++;
	xp_kick_all(queue);
	xp_leave(queue);
	return 0;
}
