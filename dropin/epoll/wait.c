/* epoll_wait(2): waits in the queue, and translates the queue's records into events. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "common/time.h"
#include "ep.h"

enum { EP_RECORDS = 64 /* size of the array of records on the stack */ };

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return timeout_ns(&now);
}

/*
 * Translate records into events.  If held_fd is not negative, events[0] is the event of that
 * descriptor, from the record that ep_give_back has kept.  A level-triggered registration is also
 * reported by the queue then: both become one event.  Returns the number of events.
 */
static int deliver_all(struct ep_set *set, const struct xpoll_ready *records, int count,
                       struct epoll_event *events, int held_fd)
{
	int kept = held_fd >= 0;

	pthread_mutex_lock(&set->lock);
	for (int i = 0; i < count; i++) {
		bool is_delivered = ep_deliver(set, &records[i], &events[kept]);

		if (is_delivered && records[i].fd == held_fd)
			events[0].events |= events[kept].events;
		else
			kept += is_delivered;
	}
	pthread_mutex_unlock(&set->lock);
	return kept;
}

/* Translate the record that ep_give_back has kept.  Returns its descriptor; -1: no event. */
static int deliver_held(struct ep_set *set, struct epoll_event *event)
{
	int fd;

	if (XP_LIKELY(!atomic_load_explicit(&set->is_held, memory_order_relaxed)))
		return -1;
	pthread_mutex_lock(&set->lock);
	fd = set->held.fd;
	if (!ep_deliver_held(set, event))
		fd = -1;
	pthread_mutex_unlock(&set->lock);
	return fd;
}

/*
 * Wait until there is an event for the program, or until the timeout has passed.  That may need
 * several waits of the queue: one may return early without a record, because ep_bell_pause has
 * woken it, or with records that are no events.  Returns the number of events or a negative errno
 * value.
 */
static int wait_until(struct ep_set *set, struct xpoll_ready *records, int cap,
                      struct epoll_event *events, int64_t timeout_ns, const sigset_t *mask)
{
	bool is_timed = timeout_ns > 0 && timeout_ns < XP_NEVER;
	int64_t end_ns = is_timed ? now_ns() + timeout_ns : 0;
	int count, held_fd, kept;

	do {
		held_fd = deliver_held(set, events);
		kept = held_fd >= 0;
		if (kept == cap)
			return kept;
		count = xpoll_pwait(set->queue, records, cap - kept, kept ? 0 : timeout_ns, mask);
		if (count < 0)
			return kept ? kept : -errno;
		kept = deliver_all(set, records, count, events, held_fd);
		if (count == 0 && timeout_ns == 0)
			return kept;
		if (is_timed) {
			timeout_ns = end_ns - now_ns();
			if (timeout_ns < 0)
				timeout_ns = 0;
		}
	} while (kept == 0);
	return kept;
}

/* State that `end_wait` cleans up. */
struct room {
	struct ep_set *set;
	struct xpoll_ready *records; /* allocated; NULL: those on the stack are used */
	bool is_paused;              /* ep_bell_pause was called */
};

/* End a wait, also one of a cancelled thread. */
static void end_wait(void *opaque)
{
	struct room *room = opaque;

	free(room->records);
	atomic_fetch_sub(&room->set->waiters, 1);
	if (room->is_paused)
		ep_bell_resume(room->set);
}

int ep_wait(struct ep_set *set, struct epoll_event *events, int maxevents, int64_t timeout_ns,
            const sigset_t *mask)
{
	struct xpoll_ready few[EP_RECORDS];
	struct room room = {.set = set, .is_paused = set->bell.fds[0] >= 0};
	int live = atomic_load(&set->live);
	int cap = maxevents;
	int rc;

	/* A wait returns at most one record for each live entry. */
	if (cap > EP_RECORDS && live <= EP_RECORDS)
		cap = EP_RECORDS;
	if (cap > EP_RECORDS) {
		cap = cap < live ? cap : live;
		room.records = malloc((size_t)cap * sizeof *room.records);
		if (!room.records)
			cap = EP_RECORDS;
	}
	ep_nest_refresh(set);
	atomic_fetch_add(&set->waiters, 1);
	pthread_cleanup_push(end_wait, &room);
	if (room.is_paused)
		ep_bell_pause(set);
	rc = wait_until(set, room.records ? room.records : few, cap, events, timeout_ns, mask);
	pthread_cleanup_pop(1);
	/* If these were the last events, make the set's descriptor unreadable. */
	if (room.is_paused && set->bell.is_rung)
		(void)ep_is_ready(set);
	return rc;
}
