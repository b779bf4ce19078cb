/* The back ends and providers of macOS, whose poll(2) takes no mask of signals. */
#include "sys/system.h"

#include "bsd/system.h"
#include "posix/system.h"

const struct xp_system xp_system = {
	.backends = {&xp_backend_kqueue, &xp_backend_select},
};
