/* Asynchronous I/O: its own two calls. */
#include <errno.h>

#include "base/result.h"
#include "core/enter.h"
#include "core/registration.h"
#include "source/aio.h"

static int aio_submit(struct xpoll *queue, struct xpoll_aio *aio)
{
	uint64_t ident = (uint64_t)(uintptr_t)aio;
	struct xp_registration *reg;
	int rc;

	if (xp_registration_find(queue, ident, XPOLL_FILT_AIO))
		return -EBUSY;
	reg = xp_registration_make(queue, &xp_source_aio, ident,
	                           xp_regmap_hash(ident, XPOLL_FILT_AIO));
	if (!reg)
		return -ENOMEM;
	reg->udata = xp_udata_pointer(aio->udata);
	reg->flags = xp_source_aio.implied;
	rc = xp_aio_submit(queue, reg, aio);
	if (rc < 0)
		xp_registration_free(queue, reg);
	return rc;
}

int xpoll_aio_submit(struct xpoll *queue, struct xpoll_aio *aio)
{
	int rc = queue && aio ? xp_enter_change(queue) : -EINVAL;

	if (rc < 0)
		return xp_result(rc);
	rc = aio_submit(queue, aio);
	xp_leave(queue);
	return xp_result(rc);
}

int xpoll_aio_cancel(struct xpoll *queue, struct xpoll_aio *aio)
{
	struct xp_registration *reg;
	int rc = queue && aio ? xp_enter(queue) : -EINVAL;

	if (rc < 0)
		return xp_result(rc);
	reg = xp_registration_find(queue, (uint64_t)(uintptr_t)aio, XPOLL_FILT_AIO);
	if (reg)
		xp_aio_cancel_registration(reg);
	xp_leave(queue);
	return xp_result(reg ? 0 : -ENOENT);
}
