/* Who does asynchronous I/O where threads are all there is. */
#include <stddef.h>

#include "source/provider/aio_work.h"

const struct xp_aio_provider *const xp_aio_providers[] = {
	&xp_aio_threads,
	NULL,
};
