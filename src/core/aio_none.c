/* Asynchronous I/O where nobody does it. */
#include <errno.h>
#include <xpoll.h>

#include "core/result.h"

int xpoll_aio_submit(struct xpoll *queue, struct xpoll_aio *aio)
{
	return xp_result(queue && aio ? -ENOTSUP : -EINVAL);
}

int xpoll_aio_cancel(struct xpoll *queue, struct xpoll_aio *aio)
{
	return xp_result(queue && aio ? -ENOENT : -EINVAL);
}
