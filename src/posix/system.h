/*
 * The back ends that every system with POSIX can have; the list of each system is in its system.c.
 */
#ifndef XP_POSIX_SYSTEM_H
#define XP_POSIX_SYSTEM_H

#include "sys/backend.h"

extern const struct xp_backend_ops xp_backend_poll;
extern const struct xp_backend_ops xp_backend_select;

#endif
