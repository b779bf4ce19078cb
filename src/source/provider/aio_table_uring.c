/* Who does asynchronous I/O where there may be io_uring(7). */
#include <stddef.h>

#include "source/provider/aio_work.h"

const struct xp_aio_provider *const xp_aio_providers[] = {
	&xp_aio_uring,
	&xp_aio_threads,
	NULL,
};
