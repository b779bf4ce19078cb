/* The back ends of a system with the driver AFD. */
#include "backend/backend.h"

const struct xp_backend_ops *const xp_backends[] = {
	&xp_backend_afd,
	NULL,
};
