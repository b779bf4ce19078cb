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

static int deliver_all(struct ep_set *set, const struct xpoll_ready *records, int count,
                       struct epoll_event *events)
{
	int kept = 0;

	pthread_mutex_lock(&set->lock);
	for (int i = 0; i < count; i++)
		kept += ep_deliver(set, &records[i], &events[kept]);
	pthread_mutex_unlock(&set->lock);
	return kept;
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
	int count, kept;

	do {
		count = xpoll_pwait(set->queue, records, cap, timeout_ns, mask);
		if (count < 0)
			return -errno;
		kept = deliver_all(set, records, count, events);
		if (count == 0 && timeout_ns == 0)
			return 0;
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
