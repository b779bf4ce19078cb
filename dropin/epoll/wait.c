/* epoll_wait: the records of the queue, converted to the events of the program. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "common/time.h"
#include "ep.h"

enum { EP_RECORDS = 64 /* that fit on the stack */ };

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return timeout_ns(&now);
}

/*
 * Deliver records behind the event of held_fd, if that is one.  A level is still in the queue
 * while it is held, and becomes one event.  Returns how many events there are.
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

/* Deliver the record that is held; returns its descriptor, or -1 if there is none. */
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
 * Wait until there is an event for the program, or until the time is over.  A wait of the queue
 * may return nothing earlier, because ep_bell_pause has woken it, or because no record remains.
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

struct room {
	struct ep_set *set;
	struct xpoll_ready *records; /* allocated; NULL: those on the stack are used */
	bool is_paused;
};

static void leave(void *opaque)
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

	/* A set never returns more records than it has entries. */
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
	pthread_cleanup_push(leave, &room);
	if (room.is_paused)
		ep_bell_pause(set);
	rc = wait_until(set, room.records ? room.records : few, cap, events, timeout_ns, mask);
	pthread_cleanup_pop(1);
	/* The events that were taken may have been the last. */
	if (room.is_paused && set->bell.is_rung)
		(void)ep_is_ready(set);
	return rc;
}
