/* Counts and errors in events. */
#include "core/detail.h"

#include "base/assert.h"
#include "core/candidate.h"
#include "core/file.h"
#include "os/fdkind.h"
#include "os/fdnum.h"
#include "os/sys.h"

/* Bytes or connections; negative: nobody tells. */
static int64_t count_in(int fd, enum xp_fd_kind kind)
{
	int64_t backlog = kind == XP_KIND_SOCKET ? xp_sys_backlog(fd) : -1;

	return backlog >= 0 ? backlog : xp_sys_unread(fd);
}

static int64_t count_out(int fd, enum xp_fd_kind kind)
{
	if (kind == XP_KIND_SOCKET)
		return xp_sys_socket_room(fd);
	return kind == XP_KIND_FIFO ? xp_sys_pipe_room(fd) : -1;
}

static int64_t count_of(struct xpoll *queue, int fd, struct xp_slot *slot,
                        unsigned filter)
{
	enum xp_fd_kind kind;
	int64_t count;

	if (slot->mode == XP_MODE_FILE)
		return filter == XP_READ ? xp_file_left(queue, fd) : 1;
	(void)xp_slot_lookable(fd, slot);
	kind = (enum xp_fd_kind)slot->kind;
	xp_count(&queue->counters.syscalls_check);
	count = filter == XP_READ ? count_in(fd, kind) : count_out(fd, kind);
	return count < 0 ? 1 : count;
}

/* Both events of a socket in one array tell the error that one read. */
static uint32_t error_of(struct xpoll *queue, const struct xp_wait *wait,
                         int fd, struct xp_slot *slot)
{
	const struct xpoll_event *event = &wait->events[wait->len - 1];
	int error;

	if (wait->len > 1 && event[-1].ident == event->ident &&
	    event[-1].filter == XPOLL_FILT_READ && slot->soerr & XP_BIT(XP_READ) &&
	    event[-1].fflags)
		return event[-1].fflags;
	(void)xp_slot_lookable(fd, slot);
	if (slot->kind != XP_KIND_SOCKET)
		return 0;
	xp_count(&queue->counters.syscalls_check);
	error = xp_sys_take_error(fd);
	return error < 0 ? 0 : (uint32_t)error;
}

void xp_detail(struct xpoll *queue, const struct xp_wait *wait, int fd,
               struct xp_slot *slot, unsigned filter)
{
	struct xpoll_event *event = &wait->events[wait->len - 1];

	XP_ASSERT(wait->len > 0 && event->ident == xp_fd_ident(fd));
	if (slot->counted & XP_BIT(filter))
		event->data = count_of(queue, fd, slot, filter);
	if (slot->soerr & XP_BIT(filter) && event->flags & XPOLL_EOF)
		event->fflags = error_of(queue, wait, fd, slot);
}
