/* The back ends of Solaris and illumos: see sys/system.h. */
#ifndef XP_SUNOS_SYSTEM_H
#define XP_SUNOS_SYSTEM_H

#include "sys/backend.h"

extern const struct xp_backend_ops xp_backend_port;
extern const struct xp_backend_ops xp_backend_devpoll;

#endif
