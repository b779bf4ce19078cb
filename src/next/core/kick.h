/* The mark that sleeping threads have something to look at. */
#ifndef XP_CORE_KICK_H
#define XP_CORE_KICK_H

#include "core/queue.h"

/*
 * The kernel does not report this to a thread that sleeps: one has to come out, unless the
 * calling thread delivers it itself before it leaves.
 */
static inline void xp_sleepers_look(struct xpoll *queue)
{
	queue->kick.wanted = queue->threads.waiters > 0;
}

/* The calling thread is about to look itself: returns whether a sleeping one had to. */
static inline bool xp_sleepers_looked(struct xpoll *queue)
{
	bool wanted = queue->kick.wanted;

	queue->kick.wanted = false;
	return wanted;
}

#endif
