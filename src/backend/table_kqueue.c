/* The back ends of systems with kqueue(2), best first. */
#include "backend/backend.h"

const struct xp_backend_ops *const xp_backends[] = {
	&xp_backend_kqueue,
	&xp_backend_poll,
	&xp_backend_select,
	NULL,
};
