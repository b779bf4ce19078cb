/* The back ends of illumos, best first. */
#include "backend/backend.h"

const struct xp_backend_ops *const xp_backends[] = {
	&xp_backend_port,
	&xp_backend_devpoll,
	&xp_backend_poll,
	&xp_backend_select,
	NULL,
};
