/* The descriptors of sources in the kernel's set: struct xp_source_fd in source/source.h. */
#ifndef XP_CORE_SOURCE_FD_H
#define XP_CORE_SOURCE_FD_H

#include "core/slot.h"

/* Members of xp_host. */
int xp_source_fd_watch(struct xpoll *queue, struct xp_source_fd *source_fd);
void xp_source_fd_unwatch(struct xpoll *queue, struct xp_source_fd *source_fd);

/*
 * The report of a source's descriptor: has the source read it.  Returns false if the token
 * is of none.
 */
bool xp_source_fd_fired(struct xpoll *queue, struct xp_wait *wait, uint64_t token);
/* In a forked child: all of them end, which were the parent's. */
void xp_source_fds_forget(struct xpoll *queue);
/* Put it into the kernel's set again. */
int xp_source_fd_attach(struct xpoll *queue, int fd, struct xp_slot *slot);

#endif
