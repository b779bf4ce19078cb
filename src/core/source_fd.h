/*
 * Descriptors that sources watch through the kernel's set of the queue: see struct xp_source_fd in
 * source/source.h.
 */
#ifndef XP_CORE_SOURCE_FD_H
#define XP_CORE_SOURCE_FD_H

#include "core/slot.h"

/* Implementations of xp_host.watch and xp_host.unwatch. */
int xp_source_fd_watch(struct xpoll *queue, struct xp_source_fd *source_fd);
void xp_source_fd_unwatch(struct xpoll *queue, struct xp_source_fd *source_fd);

/*
 * Call the source whose descriptor the kernel has reported with this token.  Returns false if the
 * token belongs to no source.
 */
bool xp_source_fd_fired(struct xpoll *queue, struct xp_wait *wait, uint64_t token);
/* In a forked child: forget the descriptors of all sources, which belong to the parent. */
void xp_source_fds_forget(struct xpoll *queue);
/* Add the source's descriptor to the kernel's set.  Returns 0 or a negative errno value. */
int xp_source_fd_attach(struct xpoll *queue, int fd, struct xp_slot *slot);

#endif
