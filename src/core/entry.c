/* What the kernel is asked to watch. */
#include "core/entry.h"

#include <errno.h>

#include "base/assert.h"
#include "core/candidate.h"
#include "core/news.h"
#include "core/unpollable.h"
#include "os/sys.h"

/* Half-closes come along with READ, for XPOLL_EOF. */
#define INTEREST_BITS(i) \
	(((i) & 1 ? POLLRDHUP | ((i) & 8 ? POLLIN : 0) : 0) | \
	 ((i) & 2 ? POLLOUT : 0) | ((i) & 4 ? POLLPRI : 0))

const uint16_t xp_entry_bits[64] = {XP_64_OF(INTEREST_BITS)};

uint32_t xp_entry_watch(const struct xp_slot *slot, enum xp_mode mode,
                           unsigned filters)
{
	static const uint32_t flags[] = {
		[XP_MODE_EDGE] = XP_WATCH_EDGE,
		[XP_MODE_ONESHOT] = XP_WATCH_ONESHOT,
		[XP_MODE_EXCLUSIVE] = XP_WATCH_EXCLUSIVE,
		[XP_MODE_UNPOLLABLE] = 0,
	};

	return xp_entry_probe_bits(slot, filters) | flags[mode];
}

struct xp_slot *xp_entry_find(const struct xpoll *queue, int fd)
{
	struct xp_slot *slot = fd < 0 ? NULL : xp_slots_at(&queue->slots, fd);

	return slot && slot->present ? slot : NULL;
}

void xp_entry_drop(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	enum xp_mode mode = (enum xp_mode)slot->mode;

	xp_entry_clear(queue, slot);
	if (mode == XP_MODE_UNPOLLABLE)
		xp_unpollable_remove(queue, fd);
	else if (queue->ops->caps & XP_CAP_FREE_CHANGE && mode != XP_MODE_NONE)
		(void)queue->ops->detach(queue->backend, fd);
	XP_ASSERT(!slot->present && !slot->enabled);
}

void xp_entry_forget(struct xpoll *queue, int fd)
{
	struct xp_slot *slot = xp_entry_find(queue, fd);

	if (!slot)
		return;
	if (xp_slot_in_kernel(slot))
		(void)xp_entry_end(queue, fd, slot);
	else
		xp_entry_drop(queue, fd, slot);
}

void xp_entry_end_solo(struct xpoll *queue, int fd, struct xp_slot *slot,
                 unsigned filters)
{
	for (unsigned i = 0; i < XP_FD_FILTERS; i++)
		if (filters & slot->solo & XP_BIT(i))
			(void)queue->ops->change(queue->backend, fd, XP_WATCH_SOLO(i),
			                         xp_slot_token(slot, fd));
	slot->armed &= XP_SET(~(filters & slot->solo));
	slot->solo &= ~filters & XP_ALL_FILTERS;
	xp_slot_marked(queue, slot);
}

int xp_entry_still(struct xpoll *queue, int fd, const struct xp_slot *slot,
                      unsigned filters)
{
	unsigned caps = queue->ops->caps;
	int rc;

	if (!(caps & XP_CAP_KNOWS_FILE)) {
		xp_count(&queue->counters.syscalls_check);
		rc = xp_sys_open_flags(fd);
		return rc < 0 ? rc : 0;
	}
	rc = queue->ops->attach(queue->backend, fd, XP_WATCH_AGAIN(filters),
	                        xp_slot_token(slot, fd));
	if (rc == 0)
		(void)queue->ops->detach(queue->backend, fd);
	return rc == -EEXIST ? 0 : rc == 0 || rc == -EPERM ? -ENOENT : rc;
}

bool xp_entry_same_file(struct xpoll *queue, int fd, struct xp_slot *slot,
                           unsigned filters)
{
	int rc = queue->ops->attach(queue->backend, fd, XP_WATCH_AGAIN(filters),
	                            xp_slot_token(slot, fd));

	if (rc == -EEXIST)
		return true;
	if (rc == 0)
		(void)queue->ops->detach(queue->backend, fd);
	xp_entry_drop(queue, fd, slot);
	return false;
}

void xp_entry_not_pushed(struct xpoll *queue, struct xp_slot *slot,
                            enum xp_mode mode)
{
	if (slot->mode != XP_MODE_EXCLUSIVE && mode != XP_MODE_EXCLUSIVE)
		return;
	slot->mode = XP_MODE_NONE;
	slot->armed = 0;
	queue->unattached = true;
}

/* What the kernel does not have is to be checked; see solo.h. */
static XP_NOINLINE void pushed_beside(struct xpoll *queue, int fd,
                                      struct xp_slot *slot, unsigned filters)
{
	unsigned uncovered;

	if (slot->solo && !xp_slot_holds_edges(slot, xp_exact(queue))) {
		xp_entry_end_solo(queue, fd, slot, slot->solo);
		/* The main entry has them instead. */
		slot->armed = XP_SET(filters);
	}
	slot->armed |= slot->solo;
	uncovered = slot->enabled & ~(unsigned)slot->armed;
	if (uncovered && xp_slot_holds_edges(slot, xp_exact(queue)))
		xp_recheck_by_sleeper(queue, fd, slot, uncovered);
}

void xp_entry_pushed(struct xpoll *queue, int fd, struct xp_slot *slot,
                        enum xp_mode mode, unsigned filters)
{
	xp_entry_set_mode(queue, slot, mode, filters);
	if (XP_UNLIKELY(slot->modes.clear | slot->solo))
		pushed_beside(queue, fd, slot, filters);
}

int xp_entry_push_again(struct xpoll *queue, int fd, struct xp_slot *slot,
                           enum xp_mode mode, unsigned filters, unsigned again)
{
	uint32_t watch = xp_entry_watch(slot, mode, filters) |
		XP_WATCH_AGAIN(again);
	uint64_t token = xp_entry_next_token(queue, slot, fd);
	int rc;

	XP_ASSERT(slot->mode != XP_MODE_UNPOLLABLE);
	XP_ASSERT(mode != XP_MODE_NONE && mode != XP_MODE_FIRED);
	xp_news_before_change(queue, fd, slot);
	if (slot->mode == XP_MODE_NONE)
		rc = xp_entry_attach(queue, fd, watch, token);
	else
		rc = queue->ops->change(queue->backend, fd, watch, token);
	/* The number is a file that cannot be waited for: another one. */
	if (rc == -EPERM)
		rc = -ENOENT;
	if (rc == 0)
		xp_entry_pushed(queue, fd, slot, mode, filters);
	else if (rc == -ENOENT || rc == -EBADF)
		xp_entry_drop(queue, fd, slot);
	else
		xp_entry_not_pushed(queue, slot, mode);
	if (rc == 0)
		xp_news_after_change(queue, fd, slot);
	return rc;
}

int xp_entry_push(struct xpoll *queue, int fd, struct xp_slot *slot,
                     enum xp_mode mode, unsigned filters)
{
	return xp_entry_push_again(queue, fd, slot, mode, filters,
	                              XP_ALL_FILTERS);
}
