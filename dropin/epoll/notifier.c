/*
 * The notifier of a set: a socket pair that is used in place of the queue's descriptor, if the
 * queue has no descriptor, or if the kernel refuses to register the queue's descriptor in another
 * queue.  The program's descriptor is a duplicate of one end of the pair.  When the set has events,
 * the thread in notifier_thread.c sends a message into the other end, which makes the program's
 * descriptor readable.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "ep.h"
#include "real.h"

int ep_notifier_open(struct ep_notifier *notifier)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) < 0)
		return -errno;
	for (int i = 0; i < 2; i++) {
		ep_real()->fcntl(fds[i], F_SETFD, FD_CLOEXEC);
		ep_real()->fcntl(fds[i], F_SETFL, O_NONBLOCK);
		atomic_store(&notifier->fds[i], fds[i]);
	}
	return 0;
}

void ep_notifier_set_readable(struct ep_set *set, bool ready)
{
	struct ep_notifier *notifier = &set->notifier;
	char byte = 1;

	if (!notifier->has_thread || notifier->is_readable == ready)
		return;
	notifier->is_readable = ready;
	if (ready)
		(void)!send(notifier->fds[1], &byte, 1, MSG_DONTWAIT);
	else
		(void)!recv(notifier->fds[0], &byte, 1, MSG_DONTWAIT);
	pthread_cond_broadcast(&notifier->changed);
}

/*
 * Wake the notifier's thread, which waits in the queue for an event, and sleep until the thread has
 * left the queue.  Called with the set's lock, which is released during that sleep.
 */
static void park_thread(struct ep_set *set)
{
	int state;

	if (!set->notifier.has_thread || set->notifier.is_parked)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	(void)xpoll_wake(set->queue);
	while (!set->notifier.is_parked)
		pthread_cond_wait(&set->notifier.changed, &set->lock);
	pthread_setcancelstate(state, NULL);
}

bool ep_notifier_pause(struct ep_set *set)
{
	if (atomic_load(&set->notifier.fds[0]) < 0)
		return false;
	pthread_mutex_lock(&set->lock);
	set->notifier.pause_count++;
	park_thread(set);
	pthread_mutex_unlock(&set->lock);
	return true;
}

void ep_notifier_resume(struct ep_set *set)
{
	pthread_mutex_lock(&set->lock);
	if (--set->notifier.pause_count == 0)
		pthread_cond_broadcast(&set->notifier.changed);
	pthread_mutex_unlock(&set->lock);
}

void ep_notifier_close(struct ep_set *set)
{
	struct ep_notifier *notifier = &set->notifier;

	if (atomic_load(&notifier->fds[0]) < 0)
		return;
	if (notifier->has_thread) {
		pthread_mutex_lock(&set->lock);
		notifier->is_stopping = true;
		park_thread(set);
		pthread_cond_broadcast(&notifier->changed);
		pthread_mutex_unlock(&set->lock);
		pthread_join(notifier->thread, NULL);
	}
	real_close.close(notifier->fds[0]);
	real_close.close(notifier->fds[1]);
	notifier->fds[0] = notifier->fds[1] = -1;
	notifier->is_required = notifier->has_thread = notifier->is_readable = false;
	notifier->is_parked = notifier->is_stopping = false;
	notifier->pause_count = 0;
}
