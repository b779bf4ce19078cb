/* The back ends that every system with POSIX can have: see sys/system.h. */
#ifndef XP_POSIX_SYSTEM_H
#define XP_POSIX_SYSTEM_H

#include "sys/backend.h"

extern const struct xp_backend_ops xp_backend_poll;
extern const struct xp_backend_ops xp_backend_select;

#endif
