/*
 * What the queue does for its sources: watching their descriptors, and calling
 * them when a moment has come.  All with the queue's lock held.
 */
#ifndef XP_CORE_WATCH_H
#define XP_CORE_WATCH_H

#include "core/queue.h"

/* The kernel reported a descriptor that is a source's; false: it is none. */
bool xp_watch_fired(struct xpoll *queue, int fd, uint32_t generation);

/* Watch it again, by another kernel set. */
int xp_watch_attach(struct xpoll *queue, int fd, struct xp_slot *slot);

/* In a forked child, whose sources have closed theirs. */
void xp_watch_forget_all(struct xpoll *queue);

/*
 * Call those whose moment has come; the caller takes up to `room` of what they
 * activate.
 */
void xp_sources_run_due(struct xpoll *queue, int room);

/*
 * A handler has run on a waiting thread.  Is an event there?  That of an
 * observed signal goes before -EINTR.
 */
bool xp_sources_interrupted(struct xpoll *queue);

/* The counters are about to be read. */
void xp_sources_audit(struct xpoll *queue);

/* A descriptor is about to be closed. */
void xp_sources_forget(struct xpoll *queue, int fd);

/*
 * Every queue was told so: wait until nothing uses the descriptor.  Without the
 * queue's lock or any other; may sleep.
 */
void xp_sources_await_unused(int fd);

#endif
