/* Choosing a back end. */
#ifndef XP_CORE_BACKENDS_H
#define XP_CORE_BACKENDS_H

#include <xpoll.h>

#include "sys/backend.h"

/*
 * The back end of this name, or of $XPOLL_BACKEND, or the best one that works
 * here.  -ENOTSUP: no such name, or it does not work here.
 */
int xp_backend_find(const char *name, const struct xp_backend_ops **ops);

/*
 * Copies the options of xpoll_open and checks them; NULL: none.  Members that the caller's
 * structure lacks stay as they are in `taken`.
 */
int xp_options_take(const struct xpoll_options *options, struct xpoll_options *taken);

/* Opens the state as the options say: -ENOTSUP also if they are not for this back end. */
int xp_backend_open(const struct xp_backend_ops *ops, void *state,
                    const struct xpoll_options *options, struct xp_counters *counters);

#endif
