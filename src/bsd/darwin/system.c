/* The back ends of macOS.  poll is none of them: macOS has no poll(2) with a mask of signals. */
#include "sys/system.h"

#include "bsd/system.h"
#include "posix/system.h"

const struct xp_system xp_system = {
	.backends = {&xp_backend_kqueue, &xp_backend_select},
};
