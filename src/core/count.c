/* Counts of bytes and connections: XPOLL_NOTE_COUNT, XPOLL_NOTE_SOERR and XPOLL_NOTE_LOWAT. */
#include "core/count.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/table.h"
#include "core/candidates.h"
#include "core/due.h"
#include "core/files.h"
#include "sys/sys.h"

/* --- Counts and socket errors in events -------------------------------------------------- */

/* Returns the number of bytes to read, or of connections to accept; 1 if the number is unknown. */
static int64_t count_unread(struct xpoll *queue, int fd, enum xp_fd_kind kind, bool eof)
{
	int64_t unread = xp_sys_unread(fd);
	int64_t backlog;

	xp_count(&queue->counters.syscalls_check);
	if (unread > 0)
		return unread;
	/*
	 * FIONREAD fails on a terminal that has hung up: return 0 then, because nothing is left to
	 * read
	 */
	if (kind != XP_KIND_SOCKET || eof)
		return unread >= 0 ? unread : eof && kind != XP_KIND_SOCKET ? 0 : 1;
	backlog = xp_sys_backlog(fd);
	return backlog >= 0 ? backlog : unread >= 0 ? unread : 1;
}

/*
 * Returns the free space of a pipe, or a negative errno value.  The size of a pipe hardly ever
 * changes, so the size is cached in the slot, and queried again in each 64th wait.  On some kernels
 * only the free space can be queried.
 */
static int64_t pipe_room(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	int64_t size = INT64_C(1) << slot->pipe_size_log2, unread;

	XP_ASSERT(slot->kind == XP_KIND_FIFO);
	xp_count(&queue->counters.syscalls_check);
	if (!slot->pipe_size_log2 || queue->stats.waits % XP_RECENT_FOR == 0) {
		size = xp_sys_pipe_size(fd);
		if (size <= 0)
			return xp_sys_pipe_room(fd);
		xp_count(&queue->counters.syscalls_check);
		slot->pipe_size_log2 = XP_HIGHEST_BIT((uint64_t)size) & 31;
	}
	unread = xp_sys_unread(fd);
	/*
	 * If the pipe holds the cached size or more, the pipe is full or was enlarged: query the
	 * free space.
	 */
	return unread < 0 ? unread : unread < size ? size - unread : xp_sys_pipe_room(fd);
}

/* Returns the `data` of an event with XPOLL_NOTE_COUNT; 1 if the count is unknown. */
static int64_t count_of(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filter,
                        bool eof)
{
	enum xp_fd_kind kind = xp_slot_kind(fd, slot);
	int64_t room;

	if (slot->mode == XP_MODE_FILE)
		return filter == XP_READ ? xp_file_left(queue, fd) : 1;
	if (filter == XP_READ)
		return count_unread(queue, fd, kind, eof);
	if (kind != XP_KIND_SOCKET && kind != XP_KIND_FIFO)
		return 1;
	if (kind == XP_KIND_SOCKET)
		xp_count_by(&queue->counters.syscalls_check, 2);
	room = kind == XP_KIND_SOCKET ? xp_sys_socket_room(fd) : pipe_room(queue, fd, slot);
	return room < 0 ? 1 : room;
}

/*
 * Called for a socket event with XPOLL_EOF.  Returns true if the event is READ and fd is still a
 * listener: then the listener was shut down, which only TCP reports by an end of file.  counted:
 * event->data has the count, which is 1 (unknown) for a listener, so any other count saves the
 * system call.
 */
static bool is_shut_down_listener(struct xpoll *queue, const struct xpoll_event *event, int fd,
                                  bool counted)
{
	if (event->filter != XPOLL_FILT_READ || (counted && event->data != 1))
		return false;
	xp_count(&queue->counters.syscalls_check);
	return xp_sys_is_listener(fd);
}

void xp_event_count(struct xpoll *queue, int fd, struct xp_slot *slot, struct xpoll_event *event,
                    bool has_first, bool aborted)
{
	unsigned filter = (unsigned)xp_filter_index(event->filter);
	bool counted;
	int error;

	XP_ASSERT(filter < XP_FD_FILTERS);
	counted = slot->count_filters & XP_BIT(filter);
	if (counted)
		event->data = count_of(queue, fd, slot, filter, event->flags & XPOLL_EOF);
	if (!(slot->so_error & XP_BIT(filter)) || !(event->flags & XPOLL_EOF) ||
	    xp_slot_kind(fd, slot) != XP_KIND_SOCKET)
		return;
	/*
	 * Reading a socket's error (SO_ERROR) clears the error: copy the error from the READ event
	 * to the WRITE event.
	 */
	if (has_first && event[-1].ident == event->ident && slot->so_error & XP_BIT(XP_READ) &&
	    event[-1].filter == XPOLL_FILT_READ && event[-1].fflags) {
		event->fflags = event[-1].fflags;
		return;
	}
	xp_count(&queue->counters.syscalls_check);
	error = xp_sys_take_error(fd);
	event->fflags = error < 0 ? 0 : (uint32_t)error;
	if ((event->fflags && event->fflags != ECONNABORTED) ||
	    !((aborted && filter == XP_READ) || is_shut_down_listener(queue, event, fd, counted)))
		return;
	event->fflags = ECONNABORTED;
	event->data = counted ? 0 : event->data;
}

/* --- Low-water marks ---------------------------------------------------------------------- */

/*
 * Time between two checks of a WRITE filter whose free space is below its low-water mark.  No edge
 * reports that the space has grown, so the queue checks the filter again and again.
 */
enum { LOWAT_EVERY_NS = 10 * XP_NS_PER_MS };

static int64_t *lowat_at(const struct xpoll *queue, int fd, unsigned filter)
{
	XP_ASSERT(fd < queue->lowat.len && filter <= XP_WRITE);
	return &queue->lowat.bytes[fd][filter];
}

/*
 * Returns the number of bytes to read, or the room for writing, or a negative errno value: -ENOTSUP
 * if no low-water mark is possible.
 */
static int64_t lowat_count(int fd, enum xp_fd_kind kind, unsigned filter)
{
	/*
	 * FIONREAD counts only the first datagram, which may stay below the low-water mark for
	 * ever: refuse the mark.
	 */
	if (kind == XP_KIND_SOCKET && !xp_sys_is_stream(fd))
		return -ENOTSUP;
	if (filter == XP_READ)
		return xp_kind_can_probe(kind) ? xp_sys_unread(fd) : -ENOTSUP;
	return kind == XP_KIND_SOCKET ? xp_sys_socket_room(fd)
		: kind == XP_KIND_FIFO ? xp_sys_pipe_room(fd) : -ENOTSUP;
}

int xp_lowat_prepare(struct xpoll *queue, int fd, unsigned filter)
{
	int kind = fd < 0 ? -EBADF : xp_fd_kind(fd);
	int64_t count;

	if (kind < 0)
		return kind;
	count = lowat_count(fd, (enum xp_fd_kind)kind, filter);
	/*
	 * Allow a listener (EINVAL), which a connection makes ready, and a pipe without a reader
	 * (EPIPE).
	 */
	if (count < 0 && count != -EINVAL && count != -EPIPE)
		return -ENOTSUP;
	return XP_TABLE_RESERVE(&queue->lowat.bytes, &queue->lowat.len, fd + 1);
}

void xp_lowat_set(struct xpoll *queue, int fd, unsigned filter, int64_t bytes)
{
	XP_ASSERT(bytes > 0);
	*lowat_at(queue, fd, filter) = bytes;
}

int64_t xp_lowat_get(const struct xpoll *queue, int fd, unsigned filter)
{
	return *lowat_at(queue, fd, filter);
}

/*
 * Returns true if READ has reached its low-water mark.  The count of bytes to read ends at urgent
 * data, so with urgent data this returns true, too.  Also returns true if the count is unknown or
 * poll(2) fails: the report may be an edge, which does not come again if it is dropped here.
 */
static bool enough_to_read(struct xpoll *queue, int fd, const struct xp_slot *slot)
{
	struct pollfd probe = {.fd = fd, .events = POLLPRI};
	int64_t unread = xp_sys_unread(fd);
	int rc;

	xp_count(&queue->counters.syscalls_check);
	if (unread < 0 || unread >= xp_lowat_get(queue, fd, XP_READ))
		return true;
	if (slot->kind != XP_KIND_SOCKET)
		return false;
	xp_count(&queue->counters.syscalls_check);
	rc = xp_sys_poll_now(&probe, 1);
	return rc < 0 || (rc > 0 && probe.revents & POLLPRI);
}

/*
 * Returns true if WRITE has reached its low-water mark.  Otherwise records the filter in
 * slot->below_lowat, and sets the time at which the queue checks the filter again.
 */
static bool room_or_check_later(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	int64_t room = slot->kind == XP_KIND_SOCKET ? xp_sys_socket_room(fd) : xp_sys_pipe_room(fd);

	xp_count_by(&queue->counters.syscalls_check, 2);
	slot->below_lowat = 0;
	if (room < 0 || room >= xp_lowat_get(queue, fd, XP_WRITE))
		return true;
	slot->below_lowat = XP_BIT(XP_WRITE);
	if (xp_due_of(queue, XP_SOURCE_NONE) == XP_NEVER)
		xp_due_set(queue, XP_SOURCE_NONE, xp_sys_now() + LOWAT_EVERY_NS);
	return false;
}

uint32_t xp_lowat_mask_events(struct xpoll *queue, int fd, struct xp_slot *slot, uint32_t events)
{
	unsigned marked = slot->lowat & slot->enabled;

	/* An end of file or an error is reported even if the low-water mark is not reached. */
	if (XP_LIKELY(!marked) || events & (POLLERR | POLLHUP))
		return events;
	(void)xp_slot_kind(fd, slot);
	if (marked & XP_BIT(XP_READ) && events & POLLIN && !(events & POLLRDHUP) &&
	    !enough_to_read(queue, fd, slot))
		events &= ~(uint32_t)POLLIN;
	if (marked & XP_BIT(XP_WRITE) && events & POLLOUT && !room_or_check_later(queue, fd, slot))
		events &= ~(uint32_t)POLLOUT;
	return events;
}

void xp_lowat_due(struct xpoll *queue)
{
	struct xp_slot *slot;

	xp_due_set(queue, XP_SOURCE_NONE, XP_NEVER);
	for (int fd = 0; (slot = xp_slots_walk(queue, &fd)); fd++) {
		unsigned again = slot->below_lowat & slot->enabled & slot->lowat;

		slot->below_lowat = 0;
		if (again)
			xp_candidate_add_delivered(queue, fd, slot, again);
	}
}

void xp_lowat_fini(struct xpoll *queue)
{
	xp_free(queue->lowat.bytes);
}
