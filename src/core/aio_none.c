/* Asynchronous I/O and signals where there are none. */
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

int xpoll_signal_changed(int number)
{
	return xp_result(number < 0 ? -EINVAL : -ENOTSUP);
}
