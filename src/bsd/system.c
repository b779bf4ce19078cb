/* The back ends and providers of FreeBSD, NetBSD, OpenBSD and DragonFly. */
#include "sys/system.h"

#include "bsd/system.h"
#include "posix/system.h"

const struct xp_system xp_system = {
	.backends = {&xp_backend_kqueue, &xp_backend_poll, &xp_backend_select},
};
