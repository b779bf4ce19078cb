/* What the queue asks of its sources.  With the queue's lock held. */
#ifndef XP_CORE_SOURCES_H
#define XP_CORE_SOURCES_H

#include "core/queue.h"

/*
 * Call those whose moment has come; the caller takes up to `room` of what they
 * activate.
 */
void xp_sources_run_due(struct xpoll *queue, int room);

/* This wait calls sources from now on; NULL: no longer. */
static inline void xp_sources_wait(struct xpoll *queue, struct xp_wait *wait)
{
	queue->source_wait = wait;
}

/* Have all of them hear what has happened. */
void xp_sources_settle(struct xpoll *queue, enum xp_settle before);

/* A descriptor is about to be closed. */
void xp_sources_forget(struct xpoll *queue, int fd);

/*
 * Every queue has let go of it: wait until nothing uses the descriptor.  Without the
 * queue's lock or any other; may sleep.
 */
void xp_sources_await_unused(int fd);

#endif
