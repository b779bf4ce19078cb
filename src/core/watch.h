/* Descriptors that the queue watches for its sources.  With its lock held. */
#ifndef XP_CORE_WATCH_H
#define XP_CORE_WATCH_H

#include "core/queue.h"

/* The kernel reported a descriptor that is a source's; false: it is none. */
bool xp_watch_fired(struct xpoll *queue, int fd, uint32_t generation);

/* Watch it again, by another kernel set. */
int xp_watch_attach(struct xpoll *queue, int fd, struct xp_slot *slot);

/* In a forked child, whose sources have closed theirs. */
void xp_watch_forget_all(struct xpoll *queue);

#endif
