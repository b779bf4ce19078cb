/* What the queue does for its sources beyond the table of struct xp_host. */
#ifndef XP_CORE_HOST_H
#define XP_CORE_HOST_H

#include "core/queue.h"

/* Members of xp_host that sources.c has. */
void xp_registration_set_active(struct xpoll *queue, struct xp_registration *reg, bool active);
void xp_registration_end(struct xpoll *queue, struct xp_registration *reg);
struct xp_registration *xp_registration_spawn(struct xpoll *queue,
                                              const struct xp_registration *model,
                                              uint64_t ident);

#endif
