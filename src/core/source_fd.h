/* Descriptors that the queue watches for its sources.  With its lock held. */
#ifndef XP_CORE_SOURCE_FD_H
#define XP_CORE_SOURCE_FD_H

#include "core/queue.h"

/* As the members of struct xp_host (source/source.h). */
int xp_source_fd_add(struct xpoll *queue, struct xp_source_fd *source_fd);
void xp_source_fd_remove(struct xpoll *queue, struct xp_source_fd *source_fd);

/* The kernel reported a descriptor that is a source's; false: it is none. */
bool xp_source_fd_fired(struct xpoll *queue, uint64_t token);

/* Watch it again, by another kernel set. */
int xp_source_fd_attach(struct xpoll *queue, int fd, struct xp_slot *slot);

/* In a forked child, whose sources have closed theirs. */
void xp_source_fd_forget_all(struct xpoll *queue);

#endif
