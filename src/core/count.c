/* XPOLL_NOTE_COUNT and XPOLL_NOTE_SOERR: counts and socket errors in events. */
#include "core/count.h"

#include <errno.h>

#include "base/assert.h"
#include "core/files.h"
#include "sys/sys.h"

/* Returns the number of bytes to read, or of connections to accept; 1 if it is unknown. */
static int64_t count_unread(struct xpoll *queue, int fd, enum xp_fd_kind kind, bool eof)
{
	int64_t unread = xp_sys_unread(fd);
	int64_t backlog;

	xp_count(&queue->counters.syscalls_check);
	if (unread > 0)
		return unread;
	/* FIONREAD fails on a terminal that has hung up: nothing is left to read */
	if (kind != XP_KIND_SOCKET || eof)
		return unread >= 0 ? unread : eof && kind != XP_KIND_SOCKET ? 0 : 1;
	backlog = xp_sys_backlog(fd);
	return backlog >= 0 ? backlog : unread >= 0 ? unread : 1;
}

/*
 * Returns the free space of a pipe, or a negative errno value.  The size of a pipe hardly ever
 * changes, so it is cached, and queried again in each 64th wait.  On some kernels only the free
 * space can be queried.
 */
static int64_t pipe_room(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	int64_t size = INT64_C(1) << slot->pipe_bits, unread;

	XP_ASSERT(slot->kind == XP_KIND_FIFO);
	xp_count(&queue->counters.syscalls_check);
	if (!slot->pipe_bits || queue->counters.waits % XP_RECENT_FOR == 0) {
		size = xp_sys_pipe_size(fd);
		if (size <= 0)
			return xp_sys_pipe_room(fd);
		xp_count(&queue->counters.syscalls_check);
		slot->pipe_bits = XP_HIGHEST_BIT((uint64_t)size) & 31;
	}
	unread = xp_sys_unread(fd);
	/*
	 * If the pipe holds the cached size or more, it is full or was enlarged: query the free
	 * space.
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
 * listener: then it was shut down, which only TCP reports by an end of file.  counted: event->data
 * has the count, which is 1 (unknown) for a listener, so any other count saves the system call.
 */
static bool count_aborted(struct xpoll *queue, const struct xpoll_event *event, int fd,
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
	counted = slot->count & XP_BIT(filter);
	if (counted)
		event->data = count_of(queue, fd, slot, filter, event->flags & XPOLL_EOF);
	if (!(slot->so_error & XP_BIT(filter)) || !(event->flags & XPOLL_EOF) ||
	    xp_slot_kind(fd, slot) != XP_KIND_SOCKET)
		return;
	/*
	 * Reading a socket's error clears it: copy the error from the READ event to the WRITE
	 * event.
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
	    !((aborted && filter == XP_READ) || count_aborted(queue, event, fd, counted)))
		return;
	event->fflags = ECONNABORTED;
	event->data = counted ? 0 : event->data;
}
