/* The back ends where poll(2) takes no mask of signals, best first. */
#include "backend/backend.h"

const struct xp_backend_ops *const xp_backends[] = {
	&xp_backend_kqueue,
	&xp_backend_select,
	NULL,
};
