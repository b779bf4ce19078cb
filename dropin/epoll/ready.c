/*
 * Translates records of the queue into events for the program, and finds out whether a set has an
 * event.  The two are in one file because they call each other: a record for a nested set is an
 * event only if the nested set has an event.
 */
#include <errno.h>
#include <poll.h>

#include "ep.h"
#include "real.h"

/*
 * EP_UNPOLLED: the bits that must not be passed to poll(2).  Where the system has no POLLRDHUP,
 * xpoll uses the bit XP_OWN_RDHUP for that condition, but this bit may mean something else to
 * poll(2).
 */
#ifdef POLLRDHUP
#define EP_UNPOLLED 0
#else
#define EP_UNPOLLED XP_OWN_RDHUP
#endif

/*
 * Call poll(2) for the entry of fd.  Returns the requested POLL* bits that are ready now, and
 * errors and hang-ups.  `bits` are the POLL* bits that the queue has reported.
 *
 * On a system without POLLRDHUP, poll(2) cannot report that condition.  There, once `bits` had
 * XP_OWN_RDHUP, this call and all later ones return that bit if it is requested, because a peer
 * that has shut down its side of a socket cannot open it again.
 */
static int poll_now(int fd, struct ep_entry *entry, int bits)
{
	int wanted = ep_poll_bits(entry->events);
	struct pollfd look = {.fd = fd, .events = (short)(wanted & ~EP_UNPOLLED)};
	int found = ep_real()->poll(&look, 1, 0) == 1 ? look.revents : 0;

	entry->is_half_closed |= bits & EP_UNPOLLED;
	return entry->is_half_closed ? found | (wanted & EP_UNPOLLED) : found;
}

/*
 * Returns the ready POLL* bits of an entry: `bits`, which the queue has reported.  Unless fd refers
 * to a nested set, adds the requested bits that poll(2) finds ready now, and errors and hang-ups,
 * in two cases.  First: the entry is edge-triggered or one-shot and requests several bits; Linux
 * returns all bits that are ready in one event.  Second: a requested bit is not registered, because
 * the queue has refused it (add_bits in entry.c).
 */
static int complete_ready_bits(int fd, struct ep_entry *entry, int bits)
{
	int wanted = ep_poll_bits(entry->events);
	bool is_whole = entry->events & (EPOLLET | EPOLLONESHOT) && wanted & (wanted - 1);

	if (entry->is_nested || (!is_whole && !(wanted & ~entry->registered_bits)))
		return bits;
	return bits | poll_now(fd, entry, bits);
}

/*
 * Called if a hang-up of fd was reported without POLLRDHUP, as some systems do.  Returns true if
 * the peer of the socket has shut down its side, so that the event must have EPOLLRDHUP.  In that
 * case poll(2) finds POLLIN, for the end of file.  On Linux a socket that was never connected has a
 * hang-up, too, but no POLLIN.
 */
static bool has_peer_shut_down(int fd, const struct ep_entry *entry)
{
	struct pollfd look = {.fd = fd, .events = POLLIN};

	return entry->is_socket && ep_real()->poll(&look, 1, 0) == 1 && look.revents & POLLIN;
}

bool ep_deliver(struct ep_set *set, const struct xpoll_ready *record, struct epoll_event *event)
{
	struct ep_entry *entry = ep_entry_find(set, record->fd);
	uint32_t events;

	/*
	 * The registration of this record has ended since the queue returned the record; `entry`,
	 * if any, is a later registration of the same descriptor: return no event.
	 */
	if (!entry || entry->serial != (uintptr_t)record->data)
		return false;
	events = ep_events(complete_ready_bits(record->fd, entry, record->events));
	if (events & EPOLLHUP && entry->events & EPOLLRDHUP && !(events & EPOLLRDHUP) &&
	    has_peer_shut_down(record->fd, entry))
		events |= EPOLLRDHUP;
	events &= entry->events | EPOLLERR | EPOLLHUP;
	/* The descriptor of a nested set may be readable without an event: check the nested set. */
	if (entry->is_nested && !ep_nested_is_ready(record->fd))
		events = 0;
	if (!events) {
		ep_enable_again(set, record->fd, entry, record->events);
		return false;
	}
	event->events = events;
	event->data.u64 = entry->data;
	return true;
}

/*
 * Keep the record in set->deferred for the next wait.  In two cases have the queue report the
 * record again instead (ep_enable_again).  No other case does that, because ep_enable_again uses
 * XPOLL_ENABLE, which makes new edges and changes the order of the events.
 *
 * First: set->deferred has a record already, for example one of another thread's wait.  Second: the
 * set has no notifier, and the entry is edge-triggered or one-shot.  The set's descriptors may be
 * duplicates of the queue's descriptor then, which has to be readable while the set has an event;
 * but the queue does not report an edge-triggered or one-shot entry again by itself.
 */
void ep_defer_record(struct ep_set *set, const struct xpoll_ready *record)
{
	struct ep_entry *entry = ep_entry_find(set, record->fd);

	if (atomic_load(&set->has_deferred) ||
	    (set->notifier.fds[0] < 0 && entry->events & (EPOLLET | EPOLLONESHOT))) {
		ep_enable_again(set, record->fd, entry, record->events);
		return;
	}
	set->deferred = *record;
	atomic_store(&set->has_deferred, true);
	/*
	 * The record is not in the queue any more, so the queue wakes no thread for the record.
	 * Wake one thread that sleeps in ep_wait: that thread delivers set->deferred.
	 */
	if (atomic_load(&set->waiters) > 0)
		(void)xpoll_wake(set->queue);
}

/*
 * Call poll(2) for the descriptor of set->deferred, the record that ep_defer_record has kept.
 * Returns true, and stores the event, if a requested condition holds now, or an error or hang-up.
 * The event has all conditions that hold now, not only those of the record.  Returns false if there
 * is no record, or if no condition holds.  The record stays in set->deferred in any case.
 */
static bool poll_deferred(struct ep_set *set, struct epoll_event *event)
{
	struct ep_entry *entry = ep_entry_find(set, set->deferred.fd);
	struct xpoll_ready record = set->deferred;

	if (!atomic_load(&set->has_deferred) || !entry)
		return false;
	record.events = poll_now(record.fd, entry, record.events);
	if (record.events)
		return ep_deliver(set, &record, event);
	/*
	 * No condition holds any more, so the program gets no event for the record.  A one-shot
	 * entry was disabled when the queue returned the record: enable the entry again.
	 */
	if (entry->events & EPOLLONESHOT)
		ep_enable_again(set, record.fd, entry, set->deferred.events);
	return false;
}

bool ep_deliver_deferred(struct ep_set *set, struct epoll_event *event)
{
	bool ready = poll_deferred(set, event);

	atomic_store(&set->has_deferred, false);
	return ready;
}

/*
 * Returns true if set->deferred, the record that ep_defer_record has kept, is still an event.  If
 * not, discards the record.  Called with the set's lock.
 *
 * If the record is an event, has_deferred stays true all the time.  (ep_deliver_deferred, which
 * sets has_deferred to false in any case, cannot be used here: a thread in ep_wait, which reads
 * has_deferred without the lock, would sleep.)
 */
static bool deferred_is_ready(struct ep_set *set)
{
	struct epoll_event event;
	bool ready = poll_deferred(set, &event);

	if (!ready)
		atomic_store(&set->has_deferred, false);
	return ready;
}

/*
 * Returns true if a record from the queue is an event, and leaves the event for the next wait
 * (ep_defer_record).  Called with the set's lock.
 */
static bool defer_if_event(struct ep_set *set, const struct xpoll_ready *record)
{
	struct epoll_event event;
	bool ready = ep_deliver(set, record, &event);

	if (ready)
		ep_defer_record(set, record);
	return ready;
}

bool ep_is_ready(struct ep_set *set)
{
	struct xpoll_ready record;
	bool inside = ep_inside, ready, is_paused;
	int saved = errno;

	if (ep_adopt(set) < 0)
		return false;
	ep_inside = true;
	ep_nest_refresh(set);
	/*
	 * Admit one thread at a time.  Two threads would take two records, and set->deferred can
	 * keep only one for the next wait.  Also, when one of the threads has kept a record, and
	 * wakes a thread in ep_wait, the other thread could consume that wake-up.
	 */
	pthread_mutex_lock(&set->ready_lock);
	is_paused = ep_notifier_pause(set);
	pthread_mutex_lock(&set->lock);
	ready = deferred_is_ready(set);
	pthread_mutex_unlock(&set->lock);
	/*
	 * Take records until one of them is an event.  The loop ends, because the queue does not
	 * report a record again that was no event: that record's entry has ended, or its condition
	 * is over.
	 */
	while (!ready && xpoll_pwait(set->queue, &record, 1, 0, NULL) == 1) {
		pthread_mutex_lock(&set->lock);
		ready = defer_if_event(set, &record);
		pthread_mutex_unlock(&set->lock);
	}
	pthread_mutex_lock(&set->lock);
	ep_notifier_set_readable(set, ready);
	pthread_mutex_unlock(&set->lock);
	if (is_paused)
		ep_notifier_resume(set);
	pthread_mutex_unlock(&set->ready_lock);
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

/*
 * Call ep_is_ready for each nested set.  If the nested set's descriptor is a notifier's socket,
 * that makes the socket readable or not readable, as the set's events require.  The notifier's
 * thread does so only a little after the event, so a wait with timeout 0 would miss the event.
 */
void ep_nest_refresh(struct ep_set *set)
{
	if (XP_LIKELY(atomic_load_explicit(&set->nested_entries, memory_order_relaxed) == 0))
		return;
	pthread_mutex_lock(&set->lock);
	for (int fd = 0; fd < (int)numbers_end(); fd++) {
		struct ep_entry *entry = ep_entry_find(set, fd);

		if (entry && entry->is_nested)
			(void)ep_nested_is_ready(fd);
	}
	pthread_mutex_unlock(&set->lock);
}
