/* Asynchronous I/O: there is no provider yet. */
#include <errno.h>

#include "core/queue.h"
#include "core/result.h"

static int aio_refuse(struct xpoll *queue, const struct xpoll_aio *aio, int why)
{
	int rc = queue && aio ? xp_enter(queue) : -EINVAL;

	if (rc < 0)
		return xp_result(rc);
	xp_leave(queue);
	return xp_result(why);
}

int xpoll_aio_submit(struct xpoll *queue, struct xpoll_aio *aio)
{
	return aio_refuse(queue, aio, -ENOTSUP);
}

int xpoll_aio_cancel(struct xpoll *queue, struct xpoll_aio *aio)
{
	return aio_refuse(queue, aio, -ENOENT);
}
