/* The back ends of FreeBSD, NetBSD, OpenBSD and DragonFly, the best one first. */
#include "sys/system.h"

#include "bsd/system.h"
#include "posix/system.h"

const struct xp_system xp_system = {
	.backends = {&xp_backend_kqueue, &xp_backend_poll, &xp_backend_select},
};
