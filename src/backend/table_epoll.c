/* The back ends of a system with epoll. */
#include "backend/backend.h"

const struct xp_backend_ops *const xp_backends[] = {
	&xp_backend_epoll,
	&xp_backend_poll,
	&xp_backend_select,
	NULL,
};
