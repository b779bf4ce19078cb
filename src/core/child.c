/* The parent's threads, in a forked child. */
#include "core/child.h"

#include <errno.h>

#include "base/time.h"
#include "core/levels.h"

int xp_child_forget_threads(struct xpoll *queue)
{
	int rc;

	queue->threads.torn = xp_child_finds_torn(queue);
	rc = xp_mutex_init(&queue->lock);
	if (rc == 0)
		rc = -pthread_cond_init(&queue->thread_left, NULL);
	if (rc < 0)
		return rc;
	atomic_store(&queue->wake.state, 0);
	queue->threads.waiters = 0;
	queue->threads.inside = 0;
	queue->threads.changers = 0;
	queue->kick.waiters = 0;
	queue->kick.due = false;
	queue->kicked = false;
	queue->turn.followers = 0;
	queue->turn.called = 0;
	xp_places_forget(&queue->turn.places);
	queue->timer.waiter = 0;
	xp_idle_forget(&queue->idle);
	queue->timer.until_ns = XP_NEVER;
	queue->recheck_wanted = false;
	queue->turn.leader = false;
	xp_waits_forget(queue);
	queue->awaited = queue->threads.dying;
	queue->exposed = false;
	queue->attention.on = false;
	queue->turn.several = false;
	return 0;
}

/*
 * One of the parent's may hold the lock.  Nothing that follows may reach what the parent
 * shares: there is nobody left to be woken, or to leave the turn to.
 */
XP_NOINLINE int xp_child_awakes(struct xpoll *queue)
{
	(void)xp_child_forget_threads(queue);
	xp_mutex_lock(&queue->lock);
	return -EINTR;
}
