/* The calls that end the waits of other threads. */
#include <errno.h>

#include "base/result.h"
#include "core/enter.h"
#include "core/sleep.h"

int xpoll_wake(struct xpoll *queue)
{
	if (!queue)
		return xp_result(-EINVAL);
	if (queue->process != xp_process_current())
		return xp_result(-EBADF);
	if (!atomic_exchange(&queue->wake.pending, 1))
		queue->ops->wake(queue->backend);
	return 0;
}

/*
 * One sleeper is kicked here, and each that comes out kicks the next (xp_kick_all,
 * xp_kick_next); wait_over ends the wait of each.
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
