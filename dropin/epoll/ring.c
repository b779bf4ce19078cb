/*
 * The thread that rings the bell of a set, where the queue has no descriptor.
 *
 * The thread waits in the queue for one event, gives it back, puts a message into the socket
 * pair, and waits until somebody has found the set empty.  An event that the thread has taken
 * would be missed by other waits of the set: so they keep the thread out of the queue.
 */
#include <errno.h>

#include "ep.h"

/* Wait for one event of the queue and show it; called and left with the lock held. */
static void wait_and_show(struct ep_set *set)
{
	struct xpoll_ready record;
	struct epoll_event event;
	int count;

	set->bell.is_parked = false;
	pthread_mutex_unlock(&set->lock);
	count = xpoll_pwait(set->queue, &record, 1, -1, NULL);
	pthread_mutex_lock(&set->lock);
	if (count == 1 && ep_deliver(set, &record, &event)) {
		ep_give_back(set, &record);
		ep_bell_show(set, true);
	}
	set->bell.stops |= count < 0 && errno != EINTR;
	set->bell.is_parked = true;
	pthread_cond_broadcast(&set->bell.changed);
}

static void *ring(void *opaque)
{
	struct ep_set *set = opaque;
	struct ep_bell *bell = &set->bell;

	ep_inside = true;
	pthread_mutex_lock(&set->lock);
	while (!bell->stops) {
		if (bell->pauses > 0 || bell->is_rung)
			pthread_cond_wait(&bell->changed, &set->lock);
		else
			wait_and_show(set);
	}
	pthread_mutex_unlock(&set->lock);
	return NULL;
}

int ep_ring_start(struct ep_set *set)
{
	struct ep_bell *bell = &set->bell;
	sigset_t all, before;
	int rc = 0;

	if (bell->fds[0] < 0)
		return 0;
	sigfillset(&all);
	pthread_mutex_lock(&set->lock);
	if (!bell->runs) {
		bell->is_parked = true;
		/* The thread handles none of the program's signals. */
		pthread_sigmask(SIG_SETMASK, &all, &before);
		rc = -pthread_create(&bell->thread, NULL, ring, set);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		bell->runs = rc == 0;
	}
	pthread_mutex_unlock(&set->lock);
	return rc;
}
