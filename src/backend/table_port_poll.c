/*
 * The back ends of Solaris, best first.  select is none: what it has no word for
 * would need a helper set, see edge_none.c.
 */
#include "backend/backend.h"

const struct xp_backend_ops *const xp_backends[] = {
	&xp_backend_port,
	&xp_backend_devpoll,
	&xp_backend_poll,
	NULL,
};
