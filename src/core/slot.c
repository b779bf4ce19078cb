/* The table of slots: pages indexed by descriptor number. */
#include "core/slot.h"

#include <poll.h>

#include <string.h>

#include "base/alloc.h"
#include "base/table.h"
#include "os/fdkind.h"

struct xp_slot *xp_slots_make(struct xp_slots *slots, int fd)
{
	int page = fd >> XP_PAGE_BITS;

	if (page >= XP_PAGES_MOST ||
	    XP_TABLE_RESERVE(&slots->pages, &slots->pages_len, page + 1) < 0)
		return NULL;
	if (!slots->pages[page]) {
		struct xp_slot *fresh =
			xp_alloc_lines(XP_PAGE_SLOTS * sizeof *fresh);

		if (!fresh)
			return NULL;
		memset(fresh, 0, XP_PAGE_SLOTS * sizeof *fresh);
		for (int i = 0; i < XP_PAGE_SLOTS; i++)
			fresh[i].check.next = XP_SLOT_UNQUEUED;
		slots->pages[page] = fresh;
	}
	return &slots->pages[page][fd & (XP_PAGE_SLOTS - 1)];
}

struct xp_slot *xp_slots_walk(const struct xp_slots *slots, int *fd)
{
	int page = *fd >> XP_PAGE_BITS;

	while (page < slots->pages_len && !slots->pages[page])
		*fd = ++page << XP_PAGE_BITS;
	return page < slots->pages_len ? xp_slots_get(slots, *fd) : NULL;
}

void xp_slots_fini(struct xp_slots *slots)
{
	for (int i = 0; i < slots->pages_len; i++)
		xp_free(slots->pages[i]);
	xp_free(slots->pages);
}

int xp_slot_find_kind(int fd, struct xp_slot *slot)
{
	int kind = xp_fd_kind(fd);

	if (kind < 0)
		return kind;
	slot->kind = (uint8_t)kind;
	return 0;
}

enum { NEWS_IN = 1, NEWS_PRI = 2, NEWS_ERR = 4 };

void xp_slot_keep_news(struct xp_slot *slot, uint32_t events)
{
	slot->count.news |= (events & POLLIN && slot->present & XP_BIT(XP_READ) ? NEWS_IN : 0) |
		(events & POLLPRI && slot->present & XP_BIT(XP_EXCEPT) ? NEWS_PRI : 0) |
		(events & POLLERR ? NEWS_ERR : 0);
}

uint32_t xp_slot_take_news(struct xp_slot *slot)
{
	unsigned news = slot->count.news;

	slot->count.news = 0;
	return (news & NEWS_IN ? POLLIN : 0) | (news & NEWS_PRI ? POLLPRI : 0) |
		(news & NEWS_ERR ? POLLERR : 0);
}
