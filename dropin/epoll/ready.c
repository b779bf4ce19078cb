/*
 * The records of the queue as events, and whether a set has any.
 *
 * The two belong together, because an event of a set in a set exists only while the inner set has
 * events itself.
 */
#include <errno.h>
#include <poll.h>

#include "ep.h"
#include "real.h"

/*
 * An edge or a one-shot of one direction reports all requested directions that are ready, because
 * Linux has one entry for them all.  And a requested direction may be missing in the queue.
 */
static int look_at_all(int fd, const struct ep_entry *entry, int bits)
{
	int wanted = ep_poll_bits(entry->events);
	struct pollfd look = {.fd = fd, .events = (short)wanted};
	bool is_whole = entry->events & (EPOLLET | EPOLLONESHOT) && wanted & (wanted - 1);

	if (entry->is_nested || (!is_whole && !(wanted & ~entry->registered)))
		return bits;
	return ep_real()->poll(&look, 1, 0) == 1 ? bits | look.revents : bits;
}

bool ep_deliver(struct ep_set *set, const struct xpoll_ready *record, struct epoll_event *event)
{
	struct ep_entry *entry = ep_entry_find(set, record->fd);
	uint32_t events;

	/* The registration has ended since the queue returned the record. */
	if (!entry || entry->serial != (uintptr_t)record->data)
		return false;
	events = ep_events(look_at_all(record->fd, entry, record->events));
	/* After a hang-up both directions are shut down, which not every poll(2) reports. */
	if (events & EPOLLHUP && entry->is_socket)
		events |= EPOLLRDHUP;
	events &= entry->events | EPOLLERR | EPOLLHUP;
	/* The descriptor of a set may be readable without an event. */
	if (entry->is_nested && !ep_nested_is_ready(record->fd))
		events = 0;
	if (!events) {
		ep_undo(set, record->fd, entry, record->events);
		return false;
	}
	event->events = events;
	event->data.u64 = entry->data;
	return true;
}

/*
 * The record is held for the next wait.  ENABLE could have the queue report it again, but would
 * make new edges of all directions, and another entry would lose its turn.  Only if the set has
 * the queue's own descriptor, which must stay readable, ENABLE brings back what is not a level.
 */
void ep_give_back(struct ep_set *set, const struct xpoll_ready *record)
{
	struct ep_entry *entry = ep_entry_find(set, record->fd);

	if (set->bell.fds[0] < 0 && entry->events & (EPOLLET | EPOLLONESHOT)) {
		ep_undo(set, record->fd, entry, record->events);
		return;
	}
	set->held = *record;
	atomic_store(&set->is_held, true);
	/* A thread that sleeps in the queue would have been woken by the event. */
	if (atomic_load(&set->waiters) > 0)
		(void)xpoll_wake(set->queue);
}

bool ep_deliver_held(struct ep_set *set, struct epoll_event *event)
{
	struct ep_entry *entry = ep_entry_find(set, set->held.fd);
	struct pollfd look = {.fd = set->held.fd};
	struct xpoll_ready record = set->held;

	if (!atomic_load(&set->is_held))
		return false;
	atomic_store(&set->is_held, false);
	if (!entry)
		return false;
	look.events = (short)ep_poll_bits(entry->events);
	record.events = ep_real()->poll(&look, 1, 0) == 1 ? look.revents : 0;
	if (record.events)
		return ep_deliver(set, &record, event);
	/* The condition is over: the queue has disabled a one-shot. */
	if (entry->events & EPOLLONESHOT)
		ep_undo(set, record.fd, entry, set->held.events);
	return false;
}

/* Under the lock. */
static bool held_is_ready(struct ep_set *set)
{
	struct epoll_event event;
	bool ready = ep_deliver_held(set, &event);

	atomic_store(&set->is_held, ready);
	return ready;
}

/* Under the lock, with one record: give it back if the program would have got it. */
static bool look_at_one(struct ep_set *set, const struct xpoll_ready *record)
{
	struct epoll_event event;
	bool ready = ep_deliver(set, record, &event);

	if (ready)
		ep_give_back(set, record);
	return ready;
}

bool ep_is_ready(struct ep_set *set)
{
	struct xpoll_ready record;
	bool inside = ep_inside, ready;
	int saved = errno;

	if (ep_adopt(set) < 0)
		return false;
	ep_inside = true;
	ep_nest_refresh(set);
	ep_bell_pause(set);
	pthread_mutex_lock(&set->lock);
	ready = held_is_ready(set);
	pthread_mutex_unlock(&set->lock);
	/* Each record that is not delivered is not found again. */
	while (!ready && xpoll_pwait(set->queue, &record, 1, 0, NULL) == 1) {
		pthread_mutex_lock(&set->lock);
		ready = look_at_one(set, &record);
		pthread_mutex_unlock(&set->lock);
	}
	pthread_mutex_lock(&set->lock);
	ep_bell_show(set, ready);
	pthread_mutex_unlock(&set->lock);
	ep_bell_resume(set);
	ep_inside = inside;
	errno = saved;
	return ready;
}

bool ep_nested_is_ready(int fd)
{
	struct ep_set *inner = ep_hold(fd);
	bool ready = inner && ep_is_ready(inner);

	if (inner)
		ep_drop(inner);
	return ready;
}

/* A bell rings a moment later than its set has an event, and a wait that does not sleep is over. */
void ep_nest_refresh(struct ep_set *set)
{
	if (XP_LIKELY(atomic_load_explicit(&set->nested, memory_order_relaxed) == 0))
		return;
	pthread_mutex_lock(&set->lock);
	for (int fd = 0; fd < (int)numbers_end(); fd++) {
		struct ep_entry *entry = ep_entry_find(set, fd);

		if (entry && entry->is_nested)
			(void)ep_nested_is_ready(fd);
	}
	pthread_mutex_unlock(&set->lock);
}
