/*
 * The bell of a set: a socket pair for sets whose queue has no descriptor, or one that the kernel
 * does not accept in another queue.  The program's descriptor is one end of the pair; the thread in
 * ring.c sends a message into the other end when the set has events, which makes the program's
 * descriptor readable.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "ep.h"
#include "real.h"

int ep_bell_make(struct ep_bell *bell)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) < 0)
		return -errno;
	for (int i = 0; i < 2; i++) {
		ep_real()->fcntl(fds[i], F_SETFD, FD_CLOEXEC);
		ep_real()->fcntl(fds[i], F_SETFL, O_NONBLOCK);
		atomic_store(&bell->fds[i], fds[i]);
	}
	return 0;
}

void ep_bell_show(struct ep_set *set, bool ready)
{
	struct ep_bell *bell = &set->bell;
	char byte = 1;

	if (!bell->runs || bell->is_rung == ready)
		return;
	bell->is_rung = ready;
	if (ready)
		(void)!send(bell->fds[1], &byte, 1, MSG_DONTWAIT);
	else
		(void)!recv(bell->fds[0], &byte, 1, MSG_DONTWAIT);
	pthread_cond_broadcast(&bell->changed);
}

/*
 * Called with the set's lock: wake the bell's thread, which waits in the queue for an event, and
 * sleep until the thread has left the queue.  The lock is released during that sleep.
 */
static void park_thread(struct ep_set *set)
{
	int state;

	if (!set->bell.runs || set->bell.is_parked)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	(void)xpoll_wake(set->queue);
	while (!set->bell.is_parked)
		pthread_cond_wait(&set->bell.changed, &set->lock);
	pthread_setcancelstate(state, NULL);
}

bool ep_bell_pause(struct ep_set *set)
{
	if (atomic_load(&set->bell.fds[0]) < 0)
		return false;
	pthread_mutex_lock(&set->lock);
	set->bell.pauses++;
	park_thread(set);
	pthread_mutex_unlock(&set->lock);
	return true;
}

void ep_bell_resume(struct ep_set *set)
{
	pthread_mutex_lock(&set->lock);
	if (--set->bell.pauses == 0)
		pthread_cond_broadcast(&set->bell.changed);
	pthread_mutex_unlock(&set->lock);
}

void ep_bell_end(struct ep_set *set)
{
	struct ep_bell *bell = &set->bell;

	if (atomic_load(&bell->fds[0]) < 0)
		return;
	if (bell->runs) {
		pthread_mutex_lock(&set->lock);
		bell->stops = true;
		park_thread(set);
		pthread_cond_broadcast(&bell->changed);
		pthread_mutex_unlock(&set->lock);
		pthread_join(bell->thread, NULL);
	}
	real_close.close(bell->fds[0]);
	real_close.close(bell->fds[1]);
	bell->fds[0] = bell->fds[1] = -1;
	bell->stays = bell->runs = bell->is_rung = bell->is_parked = bell->stops = false;
	bell->pauses = 0;
}
