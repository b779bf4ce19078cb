/* epoll_wait(2): waits in the queue, and translates the queue's records into events. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "common/time.h"
#include "ep.h"

enum { EP_STACK_RECORDS = 64 /* number of records in the array on the stack */ };

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return timeout_ns(&now);
}

/*
 * Translate `count` records into at most `cap` events.  Returns the number of events.
 *
 * If deferred_fd is not negative, events[0] already has the event of a record that an earlier call
 * has kept (ep_defer_record), and deferred_fd is the descriptor of that record.  One of `records`
 * may have the same descriptor: its bits are added to events[0].  If none has, and `count` is
 * `cap`, there may be one event too many: the last record is kept for the next wait
 * (ep_defer_record).
 */
static int deliver_all(struct ep_set *set, const struct xpoll_ready *records, int count,
                       struct epoll_event *events, int deferred_fd, int cap)
{
	int kept = deferred_fd >= 0;

	pthread_mutex_lock(&set->lock);
	for (int i = 0; i < count; i++) {
		struct epoll_event event;

		if (!ep_deliver(set, &records[i], &event))
			continue;
		if (records[i].fd == deferred_fd)
			events[0].events |= event.events;
		else if (kept < cap)
			events[kept++] = event;
		else
			ep_defer_record(set, &records[i]);
	}
	pthread_mutex_unlock(&set->lock);
	return kept;
}

/*
 * Translate set->deferred, the record that an earlier call has kept (ep_defer_record), into an
 * event.  Returns the record's descriptor; -1: there is no record, or the record is no event any
 * more.
 */
static int deliver_deferred(struct ep_set *set, struct epoll_event *event)
{
	int fd;

	if (XP_LIKELY(!atomic_load_explicit(&set->has_deferred, memory_order_relaxed)))
		return -1;
	pthread_mutex_lock(&set->lock);
	fd = set->deferred.fd;
	if (!ep_deliver_deferred(set, event))
		fd = -1;
	pthread_mutex_unlock(&set->lock);
	return fd;
}

/* The arguments of one call of ep_wait. */
struct waiting {
	struct epoll_event *events;
	int64_t timeout_ns;
	const sigset_t *mask;
	int cancel_state; /* the program's cancellation state, for the wait in the queue */
	/*
	 * points to room.is_paused: set to true when ep_notifier_pause has returned true, so that
	 * end_wait calls ep_notifier_resume
	 */
	bool *is_paused;
};

/*
 * Wait in the queue.  If has_event, the caller has an event already: take more records, but do not
 * sleep, and do not let the thread be cancelled, because that event would be lost.  Like on Linux,
 * a wait with timeout 0 does not apply the signal mask, so no handler runs for a signal that only
 * the mask lets in.
 */
static int wait_in_queue(struct ep_set *set, struct xpoll_ready *records, int cap,
                         const struct waiting *waiting, bool has_event)
{
	const sigset_t *mask = waiting->timeout_ns == 0 ? NULL : waiting->mask;
	int count;

	if (has_event)
		return xpoll_pwait(set->queue, records, cap, 0, NULL);
	pthread_setcancelstate(waiting->cancel_state, NULL);
	count = xpoll_pwait(set->queue, records, cap, waiting->timeout_ns, mask);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	return count;
}

/*
 * Wait until there is an event for the program, or until the timeout has passed.  A wait of the
 * queue may return early without a record, because another thread has called xpoll_wake, or with
 * records that are no events: repeat the wait.  Returns the number of events or a negative errno
 * value.
 */
static int wait_until(struct ep_set *set, struct xpoll_ready *records, int cap,
                      struct waiting *waiting)
{
	int64_t begin_ns = waiting->timeout_ns > 0 ? now_ns() : 0;
	bool is_timed = waiting->timeout_ns > 0 && waiting->timeout_ns < XP_NEVER - begin_ns;
	int64_t end_ns = is_timed ? begin_ns + waiting->timeout_ns : 0;
	int count, deferred_fd, kept;

	do {
		deferred_fd = deliver_deferred(set, waiting->events);
		kept = deferred_fd >= 0;
		if (kept == cap)
			return kept;
		count = wait_in_queue(set, records, cap, waiting, kept > 0);
		if (count < 0)
			return kept ? kept : -errno;
		kept = deliver_all(set, records, count, waiting->events, deferred_fd, cap);
		if (count == 0 && waiting->timeout_ns == 0)
			return kept;
		/*
		 * The wait of the queue gave no event, so an xpoll_wake may have ended it.  If the
		 * set has got a notifier since this call began, that wake-up may have been meant
		 * for the notifier's thread, which has to leave the queue.  ep_notifier_pause wakes
		 * that thread again if it is still in the queue, and waits until it has left.
		 */
		if (kept == 0 && !*waiting->is_paused)
			*waiting->is_paused = ep_notifier_pause(set);
		if (is_timed) {
			waiting->timeout_ns = end_ns - now_ns();
			if (waiting->timeout_ns < 0)
				waiting->timeout_ns = 0;
		}
	} while (kept == 0);
	return kept;
}

/* The state that end_wait releases at the end of a wait, or if the thread is cancelled. */
struct room {
	struct ep_set *set;
	struct xpoll_ready *records; /* allocated array; NULL: the array on the stack is used */
	/* ep_notifier_pause has returned true, so end_wait has to call ep_notifier_resume */
	bool is_paused;
};

/* Clean-up handler, called at the end of a wait and if the thread is cancelled: release `room`. */
static void end_wait(void *opaque)
{
	struct room *room = opaque;

	free(room->records);
	atomic_fetch_sub(&room->set->waiters, 1);
	if (room->is_paused)
		ep_notifier_resume(room->set);
}

static bool is_notifier_readable(struct ep_set *set)
{
	bool rung;

	pthread_mutex_lock(&set->lock);
	rung = set->notifier.is_readable;
	pthread_mutex_unlock(&set->lock);
	return rung;
}

int ep_wait(struct ep_set *set, struct epoll_event *events, int maxevents, int64_t timeout_ns,
            const sigset_t *mask, int state)
{
	struct xpoll_ready few[EP_STACK_RECORDS];
	struct room room = {.set = set};
	struct waiting waiting = {events, timeout_ns, mask, state, &room.is_paused};
	int live = atomic_load(&set->live_entries);
	int cap = maxevents;
	int rc;

	/*
	 * A wait of the queue returns at most one record for each live entry: do not allocate more.
	 */
	if (cap > EP_STACK_RECORDS && live <= EP_STACK_RECORDS)
		cap = EP_STACK_RECORDS;
	if (cap > EP_STACK_RECORDS) {
		cap = cap < live ? cap : live;
		room.records = malloc((size_t)cap * sizeof *room.records);
		if (!room.records)
			cap = EP_STACK_RECORDS;
	}
	ep_nest_refresh(set);
	atomic_fetch_add(&set->waiters, 1);
	pthread_cleanup_push(end_wait, &room);
	room.is_paused = ep_notifier_pause(set);
	rc = wait_until(set, room.records ? room.records : few, cap, &waiting);
	pthread_cleanup_pop(1);
	/*
	 * This call may have taken the last event.  If no event is left, ep_is_ready makes the
	 * notifier's socket not readable, of which the set's descriptors are duplicates.
	 */
	if (room.is_paused && is_notifier_readable(set))
		(void)ep_is_ready(set);
	return rc;
}
