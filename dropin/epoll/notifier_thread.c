/*
 * The thread of a notifier (struct ep_notifier), which makes the set's descriptor readable.
 *
 * The thread waits in the queue for one event, gives the event back for the next wait of the
 * program, and sends a message into the socket pair, which makes the descriptor readable.  After
 * that, the thread sleeps until a call has found that the set has no event left, and has removed
 * the message.
 *
 * After the thread has taken an event, and until it has given the event back, other waits in the
 * queue would miss that event.  So every other wait calls ep_notifier_pause first, which makes the
 * thread leave the queue.
 */
#include <errno.h>

#include "ep.h"

/*
 * Wait in the queue for one record.  If the wait returns one, keep it for the program's next wait
 * (ep_defer_record), and make the set's descriptor readable.  Called and left with the set's lock,
 * which is released during the wait.
 */
static void wait_and_set_readable(struct ep_set *set)
{
	struct xpoll_ready record;
	struct epoll_event event;
	int count;

	set->notifier.is_parked = false;
	pthread_mutex_unlock(&set->lock);
	count = xpoll_pwait(set->queue, &record, 1, -1, NULL);
	pthread_mutex_lock(&set->lock);
	if (count == 1 && ep_deliver(set, &record, &event)) {
		ep_defer_record(set, &record);
		ep_notifier_set_readable(set, true);
	}
	/*
	 * The wait returned no record, so an xpoll_wake has ended it.  If no call pauses this
	 * thread, the wake-up was not for this thread, but for a thread in ep_wait whose wait began
	 * before the set got a notifier: wake the queue again for that thread.
	 */
	if (count == 0 && set->notifier.pause_count == 0 && atomic_load(&set->waiters) > 0)
		(void)xpoll_wake(set->queue);
	set->notifier.is_stopping |= count < 0 && errno != EINTR;
	set->notifier.is_parked = true;
	pthread_cond_broadcast(&set->notifier.changed);
}

/*
 * The notifier's thread: make the set's descriptor readable while the set has events, until
 * notifier->is_stopping is true.
 */
static void *run_notifier(void *opaque)
{
	struct ep_set *set = opaque;
	struct ep_notifier *notifier = &set->notifier;

	ep_inside = true;
	pthread_mutex_lock(&set->lock);
	while (!notifier->is_stopping) {
		if (notifier->pause_count > 0 || notifier->is_readable)
			pthread_cond_wait(&notifier->changed, &set->lock);
		/*
		 * A call has kept a record for the next wait (ep_defer_record): make the set's
		 * descriptor readable.  If the record's condition is over when ep_wait or
		 * ep_is_ready is called next, that call discards the record, and makes the
		 * descriptor not readable.
		 */
		else if (atomic_load(&set->has_deferred))
			ep_notifier_set_readable(set, true);
		else
			wait_and_set_readable(set);
	}
	pthread_mutex_unlock(&set->lock);
	return NULL;
}

int ep_notifier_start(struct ep_set *set)
{
	struct ep_notifier *notifier = &set->notifier;
	sigset_t all, before;
	int rc = ep_make_pollable(set);

	if (rc < 0 || atomic_load(&notifier->fds[0]) < 0)
		return rc;
	sigfillset(&all);
	pthread_mutex_lock(&set->lock);
	if (!notifier->has_thread) {
		notifier->is_parked = true;
		/*
		 * Block all signals in the new thread, so that it runs no signal handler of the
		 * program.
		 */
		pthread_sigmask(SIG_SETMASK, &all, &before);
		rc = -pthread_create(&notifier->thread, NULL, run_notifier, set);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		notifier->has_thread = rc == 0;
	}
	pthread_mutex_unlock(&set->lock);
	return rc;
}

/*
 * Returns the set that is registered in `set` as fd, with a reference for the caller, which calls
 * ep_drop; NULL: fd is not registered, or is no set.
 */
static struct ep_set *hold_nested(struct ep_set *set, int fd)
{
	struct ep_entry *entry;
	struct ep_set *inner;

	pthread_mutex_lock(&set->lock);
	entry = ep_entry_find(set, fd);
	inner = entry && entry->is_nested ? ep_hold(fd) : NULL;
	pthread_mutex_unlock(&set->lock);
	return inner;
}

static void adopt_nested(struct ep_set *set)
{
	for (int fd = 0; fd < (int)numbers_end(); fd++) {
		struct ep_set *inner = hold_nested(set, fd);

		if (!inner)
			continue;
		if (ep_adopt_with_nested(inner) == 0)
			(void)ep_notifier_start(inner);
		ep_drop(inner);
	}
}

int ep_adopt_with_nested(struct ep_set *set)
{
	if (XP_LIKELY(atomic_load(&set->process) == atomic_load(&ep_process)))
		return 0;
	if (atomic_load(&set->nested_entries) > 0)
		adopt_nested(set);
	return ep_adopt(set);
}
