/* Low-water marks. */
#include "core/lowat.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/table.h"
#include "core/candidates.h"
#include "core/due.h"
#include "sys/sys.h"

/* Low-water marks in bytes, of READ and WRITE, for the descriptors of one page of slots. */
struct xp_lowat_page {
	int64_t bytes[XP_PAGE_SLOTS][2];
};

/*
 * Time between two checks of a WRITE filter whose free space is below its low-water mark.  No edge
 * reports that the space has grown, so the queue checks it again and again.
 */
enum { LOWAT_EVERY_NS = 10 * XP_NS_PER_MS };

static int64_t *lowat_at(const struct xpoll *queue, int fd, unsigned filter)
{
	struct xp_lowat_page *page = queue->lowat.pages[fd >> XP_PAGE_BITS];

	XP_ASSERT(page && filter <= XP_WRITE);
	return &page->bytes[fd & (XP_PAGE_SLOTS - 1)][filter];
}

/* Returns the number of bytes to read, or the room for writing; -ENOTSUP: unknown. */
static int64_t lowat_count(int fd, enum xp_fd_kind kind, unsigned filter)
{
	/*
	 * FIONREAD counts only the first datagram, which may stay below the mark for ever: refuse.
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
	struct xp_lowat_page **at;
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
	if (XP_TABLE_RESERVE(&queue->lowat.pages, &queue->lowat.pages_len,
	                     (fd >> XP_PAGE_BITS) + 1) < 0)
		return -ENOMEM;
	at = &queue->lowat.pages[fd >> XP_PAGE_BITS];
	if (!*at)
		*at = xp_alloc(sizeof **at);
	return *at ? 0 : -ENOMEM;
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
 * Returns true if READ has reached its mark.  The count of bytes to read ends at urgent data, so
 * with urgent data this returns true, too, and also if poll(2) fails for lack of memory, because
 * the edge does not come again.
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
 * Returns true if WRITE has reached its mark.  Otherwise records the filter in slot->unmet, and
 * sets the time at which the queue checks it again.
 */
static bool room_or_check_later(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	int64_t room = slot->kind == XP_KIND_SOCKET ? xp_sys_socket_room(fd) : xp_sys_pipe_room(fd);

	xp_count_by(&queue->counters.syscalls_check, 2);
	slot->unmet = 0;
	if (room < 0 || room >= xp_lowat_get(queue, fd, XP_WRITE))
		return true;
	slot->unmet = XP_BIT(XP_WRITE);
	if (xp_due_of(queue, XP_SOURCE_NONE) == XP_NEVER)
		xp_due_set(queue, XP_SOURCE_NONE, xp_sys_now() + LOWAT_EVERY_NS);
	return false;
}

uint32_t xp_lowat_reached(struct xpoll *queue, int fd, struct xp_slot *slot, uint32_t events)
{
	unsigned marked = slot->lowat & slot->enabled;

	/* An end of file or an error is reported below the mark, too. */
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
		unsigned again = slot->unmet & slot->enabled & slot->lowat;

		slot->unmet = 0;
		if (again)
			xp_check_delivered(queue, fd, slot, again);
	}
}

void xp_lowat_fini(struct xpoll *queue)
{
	for (int i = 0; i < queue->lowat.pages_len; i++)
		xp_free(queue->lowat.pages[i]);
	xp_free(queue->lowat.pages);
}
