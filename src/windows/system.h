/* The back end of Windows: see sys/system.h. */
#ifndef XP_WINDOWS_SYSTEM_H
#define XP_WINDOWS_SYSTEM_H

#include "sys/backend.h"

extern const struct xp_backend_ops xp_backend_afd;

#endif
