/* Choice of the back end that a queue uses. */
#ifndef XP_CORE_BACKENDS_H
#define XP_CORE_BACKENDS_H

#include <xpoll.h>

#include "sys/backend.h"

/*
 * Store the back end of this name; name NULL: the one that $XPOLL_BACKEND names, or the best one
 * that works here.  Returns -ENOTSUP if there is none of the name, or if it does not work here.
 */
int xp_backend_find(const char *name, const struct xp_backend_ops **ops);

/*
 * Check the options of xpoll_open and copy them to `taken`. Members that the caller's older,
 * shorter structure lacks keep their values in `taken`; options NULL: copy nothing.  Returns 0,
 * -EINVAL, or -E2BIG if a newer program sets an option that this library lacks.
 */
int xp_options_take(const struct xpoll_options *options, struct xpoll_options *taken);

/*
 * Initialise the state of a back end by the options.  Returns 0 or a negative errno value: -ENOTSUP
 * also if the back end does not support one of the options.
 */
int xp_backend_open(const struct xp_backend_ops *ops, void *state,
                    const struct xpoll_options *options, struct xp_counters *counters);

#endif
