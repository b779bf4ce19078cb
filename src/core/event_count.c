/* Counts and errors in events. */
#include "core/event_count.h"

#include <errno.h>

#include "base/assert.h"
#include "core/candidate.h"
#include "core/unpollable.h"
#include "os/fdnum.h"
#include "os/sys.h"

/*
 * There may be a connection in place of bytes.  Most listeners say that they
 * have none to read, and the others that there are 0.
 */
static int64_t unusual_in(const struct xpoll_event *event, enum xp_fd_kind kind,
                          int64_t unread)
{
	int fd = xp_fd_number(event->ident);
	int64_t backlog = -1;

	if (kind == XP_KIND_SOCKET && !(event->flags & XPOLL_EOF))
		backlog = xp_sys_backlog(fd);
	/* A terminal that has hung up refuses to say that there is nothing to read. */
	if (kind != XP_KIND_SOCKET && event->flags & XPOLL_EOF && unread < 0)
		return 0;
	return backlog >= 0 ? backlog : unread >= 0 ? unread : 1;
}

int64_t xp_event_count_unusual(const struct xpoll_event *event,
                               enum xp_fd_kind kind, int64_t unread)
{
	int fd = xp_fd_number(event->ident);
	int64_t room;

	if (event->filter == XPOLL_FILT_READ)
		return unusual_in(event, kind, unread);
	room = kind == XP_KIND_SOCKET ? xp_sys_socket_room(fd)
		: xp_sys_pipe_room(fd);
	return room < 0 ? 1 : room;
}

/*
 * The size of a pipe as a power of two.  It hardly ever changes, so it is
 * asked for now and then only, and when it cannot be true.
 */
static unsigned pipe_size(const struct xp_wait *wait, int fd,
                          struct xp_slot *slot)
{
	int64_t size = 0;

	XP_ASSERT(slot->kind == XP_KIND_FIFO);
	if (slot->count.size == 0 || wait->wait_epoch % XP_SIZE_EVERY == 0)
		size = xp_sys_pipe_size(fd);
	if (size > 0)
		slot->count.size = XP_HIGHEST_BIT((uint64_t)size) & 31;
	return slot->count.size;
}

static void count_begin(struct xpoll *queue, struct xp_wait *wait, int fd,
                        struct xp_slot *slot)
{
	struct xpoll_event *event = &wait->events[wait->len - 1];
	bool reads = event->filter == XPOLL_FILT_READ;

	if (slot->mode == XP_MODE_UNPOLLABLE) {
		event->data = reads ? xp_unpollable_left(queue, fd) : 1;
		return;
	}
	(void)xp_slot_can_probe(fd, slot);
	if (!reads && slot->kind != XP_KIND_SOCKET && slot->kind != XP_KIND_FIFO)
		return;
	event->fflags = XP_COUNT_PENDING | slot->kind;
	if (!reads && slot->kind == XP_KIND_FIFO)
		event->fflags |= pipe_size(wait, fd, slot) << 4;
	wait->counts = wait->len;
}

/*
 * A listener that was shut down, as FreeBSD reports it.  Of others than TCP's the
 * end of file leaves open what it is; a count, if there is one, that is not the 1
 * of those that nobody can count says that it is no listener.
 */
static bool is_aborted(struct xpoll *queue, struct xpoll_event *event, int fd,
                       const struct xp_slot *slot, uint32_t events)
{
	bool counted = slot->count.filters & XP_BIT(XP_READ);

	if (event->filter != XPOLL_FILT_READ)
		return false;
	if (!(events & XP_EVENT_ABORTED)) {
		if (counted && event->data != 1)
			return false;
		xp_count(&queue->counters.syscalls_check);
		if (!xp_sys_is_listener(fd))
			return false;
	}
	event->data = counted ? 0 : event->data;
	return true;
}

/* Both events of a socket in one array have the error that one read. */
static uint32_t error_of(struct xpoll *queue, const struct xp_wait *wait,
                         int fd, struct xp_slot *slot)
{
	const struct xpoll_event *event = &wait->events[wait->len - 1];
	int error;

	if (wait->len > 1 && event[-1].ident == event->ident &&
	    event[-1].filter == XPOLL_FILT_READ && slot->count.soerr & XP_BIT(XP_READ) &&
	    event[-1].fflags)
		return event[-1].fflags;
	if (!xp_slot_is(fd, slot, XP_KIND_SOCKET))
		return 0;
	xp_count(&queue->counters.syscalls_check);
	error = xp_sys_take_error(fd);
	return error < 0 ? 0 : (uint32_t)error;
}

void xp_event_count(struct xpoll *queue, struct xp_wait *wait, int fd,
                    struct xp_slot *slot, unsigned filter, uint32_t events)
{
	struct xpoll_event *event = &wait->events[wait->len - 1];

	XP_ASSERT(wait->len > 0 && event->ident == xp_fd_ident(fd));
	if (slot->count.filters & XP_BIT(filter))
		count_begin(queue, wait, fd, slot);
	if (!(slot->count.soerr & XP_BIT(filter) && event->flags & XPOLL_EOF))
		return;
	/* Where the error goes there is no place for a count that is pending. */
	if (event->fflags)
		xp_event_count_ask(queue, event);
	event->fflags = error_of(queue, wait, fd, slot);
	/* A system may say it by itself; the count is none of connections then either. */
	if ((!event->fflags || event->fflags == ECONNABORTED) &&
	    slot->kind == XP_KIND_SOCKET &&
	    is_aborted(queue, event, fd, slot, events))
		event->fflags = ECONNABORTED;
}
