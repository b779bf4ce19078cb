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
 * XP_OWN_RDHUP stands for POLLRDHUP where the system has none.  For poll(2) the same bit may mean
 * something else, so this bit is never passed to poll(2).
 */
#ifdef POLLRDHUP
#define EP_UNPOLLED 0
#else
#define EP_UNPOLLED XP_OWN_RDHUP
#endif

/*
 * Returns the requested POLL* bits of an entry that are ready now, and errors and hang-ups.  bits:
 * those that the queue has reported.  Where poll(2) lacks POLLRDHUP, a POLLRDHUP that the queue has
 * once reported is returned ever after, because the peer of a socket does not open its side again.
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
 * Returns the ready POLL* bits of an entry.  For a nested set these are `bits`, which the queue has
 * reported.  For another descriptor in two cases the requested bits that are ready now are added.
 * First: an edge-triggered or one-shot entry requests several bits, because Linux reports all ready
 * directions together.  Second: the queue has refused a requested bit (add_bits in entry.c).
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
 * Called if a hang-up of this descriptor was reported: returns true if it includes a shutdown by
 * the peer, which some systems' poll(2) does not report as POLLRDHUP.  Then the socket has POLLIN
 * for the end of file.  A socket that was never connected reports a hang-up on Linux, but no
 * POLLIN.
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

	/* The registration has ended since the queue returned the record: drop the record. */
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
 * Hold the record for the next wait, in set->deferred.  The alternative is an XPOLL_ENABLE, after
 * which the queue reports the record again.  It would make new edges of all directions, and change
 * the order of the events, so it is used in two cases only.  First: another record is held already,
 * for example one of another thread's wait.  Second: the set has no notifier, so its descriptors
 * are those of the queue and have to stay readable, but the entry is edge-triggered or one-shot, so
 * the queue does not report it twice by itself.
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
	 * The record is not in the queue any more, so the queue wakes no thread for it: wake one
	 * thread that sleeps in ep_wait, which delivers it.
	 */
	if (atomic_load(&set->waiters) > 0)
		(void)xpoll_wake(set->queue);
}

/*
 * Poll the descriptor of set->deferred, the record that ep_defer_record has stored for a later
 * wait.  If a requested condition holds, or an error or hang-up, stores the event and returns true.
 * The event has all requested conditions that are ready now, not only those of the record.  In both
 * cases set->deferred stays as it is.
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
 * Returns true if set->deferred, the record that ep_defer_record has stored, is still an event;
 * otherwise discards the record.  Called with the set's lock.  has_deferred must not become false
 * for a moment if there is an event, as in ep_deliver_deferred: a thread in ep_wait reads
 * has_deferred without the lock, and would sleep.
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
	 * Admit one thread at a time.  Two threads would take two records, of which only one can be
	 * kept for the next wait (set->deferred).  One of the threads could also consume the
	 * wake-up that is meant for a thread in ep_wait.
	 */
	pthread_mutex_lock(&set->ready_lock);
	is_paused = ep_notifier_pause(set);
	pthread_mutex_lock(&set->lock);
	ready = deferred_is_ready(set);
	pthread_mutex_unlock(&set->lock);
	/*
	 * The loop ends, because the queue does not return a record again that was no event: the
	 * record's entry has ended, or its condition is over.
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
 * Updates the descriptors of all nested sets, because such a descriptor may refer to a notifier's
 * socket, which the notifier's thread makes readable a little late: a wait with timeout 0 would
 * miss an event.
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
