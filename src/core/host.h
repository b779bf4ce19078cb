/* What sources may know and set of their queue: as members of struct xp_host. */
#ifndef XP_CORE_HOST_H
#define XP_CORE_HOST_H

#include "core/queue.h"

void **xp_source_state(struct xpoll *queue, enum xp_source_id id);
void xp_source_set_due(struct xpoll *queue, enum xp_source_id id,
                       int64_t deadline_ns);
int64_t xp_source_now(struct xpoll *queue);
bool xp_source_exposed(const struct xpoll *queue);
void xp_source_set_probed(struct xpoll *queue, enum xp_source_id id, bool probed);
bool xp_source_awaited(const struct xpoll *queue);
uint64_t xp_source_harvest(const struct xpoll *queue);
bool xp_source_vnode_as_bsd(const struct xpoll *queue);
void xp_source_unobserved(struct xpoll *queue);
void xp_source_confirmed(const struct xpoll *queue, struct xp_registration *reg);

#endif
