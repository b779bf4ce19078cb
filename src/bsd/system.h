/* The back end of the systems with kqueue(2): see sys/system.h. */
#ifndef XP_BSD_SYSTEM_H
#define XP_BSD_SYSTEM_H

#include "sys/backend.h"

extern const struct xp_backend_ops xp_backend_kqueue;

#endif
