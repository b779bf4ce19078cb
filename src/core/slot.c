/* The table of slots. */
#include "core/slot.h"

#include "base/alloc.h"
#include "base/table.h"

/* Tables by descriptor double, and their lengths are of type int. */
enum { PAGES_MOST = 1 << (30 - XP_PAGE_BITS) };

#define POLL_MASK(i) \
	(((i) & XP_ALL_FILTERS ? POLLERR | POLLHUP : 0) | \
	 ((i) & XP_BIT(XP_READ) && (i) & XP_REQUEST_IN ? POLLIN : 0) | \
	 ((i) & XP_BIT(XP_READ) && (i) & XP_REQUEST_RDHUP ? POLLRDHUP : 0) | \
	 ((i) & XP_BIT(XP_WRITE) ? POLLOUT : 0) | ((i) & XP_BIT(XP_EXCEPT) ? POLLPRI : 0))

const uint16_t xp_poll_masks[64] = {XP_64_OF(POLL_MASK)};

struct xp_slot *xp_slots_make(struct xp_slots *slots, int fd)
{
	int page = fd >> XP_PAGE_BITS;
	struct xp_slot **at;

	if (page >= PAGES_MOST || XP_TABLE_RESERVE(&slots->pages, &slots->pages_len, page + 1) < 0)
		return NULL;
	at = &slots->pages[page];
	if (!*at) {
		*at = xp_alloc_lines(XP_PAGE_SLOTS * sizeof **at);
		for (int i = 0; *at && i < XP_PAGE_SLOTS; i++)
			(*at)[i] = (struct xp_slot){.next = XP_UNQUEUED};
	}
	return xp_slots_at(slots, fd);
}

void xp_slots_fini(struct xp_slots *slots)
{
	for (int i = 0; i < slots->pages_len; i++)
		xp_free(slots->pages[i]);
	xp_free(slots->pages);
}

struct xp_slot *xp_slots_walk(const struct xp_slots *slots, int *fd)
{
	for (; *fd >> XP_PAGE_BITS < slots->pages_len; *fd |= XP_PAGE_SLOTS - 1, ++*fd)
		if (xp_slots_at(slots, *fd))
			return xp_slots_at(slots, *fd);
	return NULL;
}

enum xp_fd_kind xp_slot_kind(int fd, struct xp_slot *slot)
{
	if (XP_UNLIKELY(slot->kind == XP_KIND_UNKNOWN)) {
		int kind = xp_fd_kind(fd);

		slot->kind = kind < 0 ? XP_KIND_UNKNOWN : (uint8_t)kind;
	}
	return (enum xp_fd_kind)slot->kind;
}
