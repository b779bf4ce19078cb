/* Choosing a back end. */
#ifndef XP_CORE_BACKENDS_H
#define XP_CORE_BACKENDS_H

#include "backend/backend.h"

/*
 * The back end of this name, or of $XPOLL_BACKEND, or the best one that works
 * here.  -ENOTSUP: no such name, or it does not work here.
 */
int xp_backend_find(const char *name, const struct xp_backend_ops **ops);

#endif
