/* The back ends of a system with epoll. */
#include "backend/backend.h"
#include "backend/pollring.h"

const struct xp_backend_ops *const xp_backends[] = {
	&xp_backend_epoll,
	&xp_backend_poll,
	&xp_backend_select,
#ifdef XP_HAVE_POLLRING
	&xp_backend_io_uring, /* Last: for those who name it. */
#endif
	NULL,
};
