/* The marks, and what they are compared with. */
#include "core/lowat.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/table.h"
#include "core/candidate.h"
#include "core/host.h"
#include "os/fdkind.h"
#include "os/sys.h"

/* Bytes; a page of them beside each page of slots that has any. */
struct xp_lowat_page {
	int64_t bytes[XP_PAGE_SLOTS][2];
};

_Static_assert(XP_READ == 0 && XP_WRITE == 1, "the index in a page");

enum {
	LOWAT_FILTERS = XP_BIT(XP_READ) | XP_BIT(XP_WRITE),
	/* Between checks of those with too little room; doubled with each. */
	PAUSE_LEAST_NS = XP_NS_PER_MS,
	PAUSE_MOST_NS = 64 * XP_NS_PER_MS,
};

static int64_t *lowat_at(const struct xpoll *queue, int fd, unsigned filter)
{
	struct xp_lowat_page *page = queue->lowat.pages[fd >> XP_PAGE_BITS];

	XP_ASSERT(page && filter <= XP_WRITE);
	return &page->bytes[fd & (XP_PAGE_SLOTS - 1)][filter];
}

/* Bytes to read; -EINVAL: a listener. */
static int64_t unread_of(int fd, enum xp_fd_kind kind)
{
	/* Of datagrams only the first is counted: it could be too small. */
	if (kind == XP_KIND_SOCKET && !xp_sys_is_stream(fd))
		return -ENOTSUP;
	return xp_kind_can_probe(kind) ? xp_sys_unread(fd) : -ENOTSUP;
}

static int64_t room_of(int fd, enum xp_fd_kind kind)
{
	if (kind == XP_KIND_SOCKET)
		return xp_sys_is_stream(fd) ? xp_sys_socket_room(fd) : -ENOTSUP;
	return kind == XP_KIND_FIFO ? xp_sys_pipe_room(fd) : -ENOTSUP;
}

static int pages_reserve(struct xpoll *queue, int page)
{
	struct xp_lowat_page **at;

	if (XP_TABLE_RESERVE(&queue->lowat.pages, &queue->lowat.pages_len, page + 1) < 0)
		return -ENOMEM;
	at = &queue->lowat.pages[page];
	if (!*at)
		*at = xp_alloc(sizeof **at);
	return *at ? 0 : -ENOMEM;
}

int xp_lowat_prepare(struct xpoll *queue, int fd, unsigned filters)
{
	int kind = fd < 0 ? -EBADF : xp_fd_kind(fd);
	int64_t count;

	XP_ASSERT(filters == XP_BIT(XP_READ) || filters == XP_BIT(XP_WRITE));
	if (kind < 0)
		return kind;
	count = filters & XP_BIT(XP_READ)
		? unread_of(fd, (enum xp_fd_kind)kind)
		: room_of(fd, (enum xp_fd_kind)kind);
	/*
	 * A listener has no bytes, and one connection makes it ready; so does its
	 * end a pipe that nobody reads.
	 */
	if (count < 0 && count != -EINVAL && count != -EPIPE)
		return -ENOTSUP;
	return pages_reserve(queue, fd >> XP_PAGE_BITS);
}

void xp_lowat_set(struct xpoll *queue, int fd, unsigned filters, int64_t bytes)
{
	for (unsigned i = XP_READ; i <= XP_WRITE; i++)
		if (filters & XP_BIT(i))
			*lowat_at(queue, fd, i) = bytes;
}

int64_t xp_lowat_get(const struct xpoll *queue, int fd, unsigned filter)
{
	return *lowat_at(queue, fd, filter);
}

/*
 * The count ends where urgent data begins, and nothing says how much is
 * behind; so urgent data is enough.  And so is a check that fails for lack of
 * memory: it is for an edge, which nobody reports again.
 */
static bool urgent(struct xpoll *queue, int fd, const struct xp_slot *slot)
{
	struct pollfd probe = {.fd = fd, .events = POLLPRI};
	int rc;

	if (slot->kind != XP_KIND_SOCKET)
		return false;
	xp_count(&queue->counters.syscalls_check);
	rc = xp_sys_poll_now(&probe, 1);
	return rc < 0 || (rc > 0 && probe.revents & POLLPRI);
}

static bool enough_to_read(struct xpoll *queue, int fd,
                           const struct xp_slot *slot)
{
	int64_t unread = xp_sys_unread(fd);

	xp_count(&queue->counters.syscalls_check);
	return unread < 0 || unread >= xp_lowat_get(queue, fd, XP_READ) ||
		urgent(queue, fd, slot);
}

static bool enough_room(struct xpoll *queue, int fd, const struct xp_slot *slot)
{
	int64_t room = slot->kind == XP_KIND_SOCKET ? xp_sys_socket_room(fd)
		: xp_sys_pipe_room(fd);

	xp_count_by(&queue->counters.syscalls_check, 2);
	return room < 0 || room >= xp_lowat_get(queue, fd, XP_WRITE);
}

static void look_later(struct xpoll *queue, struct xp_slot *slot)
{
	slot->lowat.unmet |= XP_BIT(XP_WRITE);
	if (queue->sources[XP_SOURCE_NONE].due_ns != XP_NEVER)
		return;
	if (!queue->lowat.pause_ns)
		queue->lowat.pause_ns = PAUSE_LEAST_NS;
	xp_source_set_due(queue, XP_SOURCE_NONE,
	                  xp_sys_now() + queue->lowat.pause_ns);
}

uint32_t xp_lowat_reached(struct xpoll *queue, int fd, struct xp_slot *slot,
                          uint32_t events)
{
	unsigned with_lowat = slot->lowat.filters & slot->enabled;

	XP_ASSERT(slot->mode != XP_MODE_UNPOLLABLE);
	/* An end or an error has no mark. */
	if (events & (POLLERR | POLLHUP))
		return events;
	(void)xp_slot_can_probe(fd, slot);
	if (with_lowat & XP_BIT(XP_READ) && events & POLLIN &&
	    !(events & POLLRDHUP) && !enough_to_read(queue, fd, slot))
		events &= ~(uint32_t)POLLIN;
	if (with_lowat & XP_BIT(XP_WRITE) && events & POLLOUT) {
		slot->lowat.unmet = 0;
		if (enough_room(queue, fd, slot)) {
			queue->lowat.pause_ns = PAUSE_LEAST_NS;
		} else {
			events &= ~(uint32_t)POLLOUT;
			look_later(queue, slot);
		}
	}
	return events;
}

void xp_lowat_due(struct xpoll *queue)
{
	int64_t pause_ns = queue->lowat.pause_ns * 2;

	queue->lowat.pause_ns = pause_ns < PAUSE_MOST_NS ? pause_ns
		: PAUSE_MOST_NS;
	xp_source_set_due(queue, XP_SOURCE_NONE, XP_NEVER);
	for (int page = 0; page < queue->lowat.pages_len; page++) {
		int fd = page << XP_PAGE_BITS;

		if (!queue->lowat.pages[page])
			continue;
		for (int i = 0; i < XP_PAGE_SLOTS; i++, fd++) {
			struct xp_slot *slot = xp_slots_get(&queue->slots, fd);
			unsigned again = slot->lowat.unmet & slot->enabled & slot->lowat.filters;

			slot->lowat.unmet = 0;
			if (again)
				xp_recheck_level(queue, fd, slot, again);
		}
	}
}

void xp_lowat_fini(struct xpoll *queue)
{
	for (int i = 0; i < queue->lowat.pages_len; i++)
		xp_free(queue->lowat.pages[i]);
	xp_free(queue->lowat.pages);
}
