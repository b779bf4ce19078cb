/* What a source has in its queue: as members of struct xp_host. */
#ifndef XP_CORE_HOST_H
#define XP_CORE_HOST_H

#include "core/queue.h"

void **xp_source_state(struct xpoll *queue, enum xp_source_id id);
void xp_source_set_due(struct xpoll *queue, enum xp_source_id id,
                       int64_t deadline_ns);

#endif
