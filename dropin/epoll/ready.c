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
 * An edge of one direction reports all requested directions that are ready, because Linux has
 * one entry for them all.
 */
static int look_at_all(int fd, uint32_t events, int bits)
{
	struct pollfd look = {.fd = fd, .events = (short)ep_poll_bits(events)};
	bool several = look.events & (look.events - 1);

	if (events & EPOLLET && several && ep_real()->poll(&look, 1, 0) == 1)
		bits |= look.revents;
	return bits;
}

bool ep_deliver(struct ep_set *set, const struct xpoll_ready *record, struct epoll_event *event)
{
	struct ep_entry *entry = ep_entry_find(set, record->fd);
	uint32_t events;

	/* The registration has ended since the queue returned the record. */
	if (!entry || entry->serial != (uintptr_t)record->data)
		return false;
	events = ep_events(look_at_all(record->fd, entry->events, record->events)) &
		(entry->events | EPOLLERR | EPOLLHUP);
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

bool ep_is_ready(struct ep_set *set)
{
	struct xpoll_ready record;
	struct epoll_event event;
	bool inside = ep_inside, ready = false;
	int saved = errno;

	if (ep_adopt(set) < 0)
		return false;
	ep_inside = true;
	ep_nest_refresh(set);
	ep_bell_pause(set);
	/* Each record that is not delivered is not found again. */
	while (!ready && xpoll_pwait(set->queue, &record, 1, 0, NULL) == 1) {
		pthread_mutex_lock(&set->lock);
		ready = ep_deliver(set, &record, &event);
		if (ready)
			ep_undo(set, record.fd, ep_entry_find(set, record.fd), record.events);
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
