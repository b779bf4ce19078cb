/* ADD, DELETE, ENABLE and DISABLE of a descriptor's filters. */
#include <errno.h>

#include "base/assert.h"
#include "base/result.h"
#include "core/change.h"
#include "core/lowat.h"
#include "core/news.h"
#include "core/unpollable.h"
#include "os/sys.h"

/* Nothing is registered; that the descriptor is closed says more, if it is. */
static int not_there(struct xpoll *queue, int fd)
{
	int rc = fd < 0 ? -EBADF : xp_sys_open_flags(fd);

	xp_count(&queue->counters.syscalls_check);
	return rc < 0 ? rc : -ENOENT;
}

/* Bring the ADD into the slot's filters; returns how many are new. */
static unsigned add_merge(struct xp_slot *slot, const struct xp_interest *add)
{
	uint8_t filters = XP_SET(add->filters);
	uint8_t fresh = filters & XP_SET(~slot->present);
	unsigned count = 0;

	for (int i = 0; i < XP_FD_FILTERS; i++) {
		if (fresh & XP_BIT(i))
			count++;
		if (fresh & XP_BIT(i) || (filters & XP_BIT(i) && !add->keep_udata))
			slot->udata[i] = add->udata;
	}
	slot->present |= filters;
	slot->enabled |= add->enable ? filters : fresh;
	if (add->disable)
		xp_slot_disable(slot, filters);
	if (add->modes & XPOLL_CLEAR)
		slot->modes.clear |= filters;
	if (add->modes & XPOLL_ONESHOT)
		slot->modes.oneshot |= filters;
	if (add->modes & XPOLL_DISPATCH)
		slot->modes.dispatch |= filters;
	slot->modes.whole |= add->modes & XPOLL_WHOLE ? 1 : 0;
	slot->modes.exclusive = ((slot->modes.exclusive & ~filters) |
	                         (add->exclusive ? filters : 0)) & XP_ALL_FILTERS;
	slot->count.filters = ((slot->count.filters & ~filters) |
	                 (add->counted ? filters : 0)) & XP_ALL_FILTERS;
	slot->count.size = 0;
	slot->count.soerr = XP_SET((slot->count.soerr & ~filters) |
	                     (add->soerr ? filters : 0));
	slot->lowat.filters = XP_SET((slot->lowat.filters & ~filters) |
	                     (add->lowat ? filters : 0));
	/* What is requested beyond what the kernel has, it has to hear of. */
	if (add->requested & ~(unsigned)slot->requested)
		slot->armed &= XP_SET(~filters);
	slot->requested |= (uint8_t)add->requested;
	return count;
}

/*
 * Keep the news of before the ADD.  Who waits for news mostly waits for POLLPRI: of READ and
 * WRITE alone it is not found out what kind of file it is.
 */
static void news_before_add(struct xpoll *queue, int fd, struct xp_slot *slot,
                            const struct xp_interest *add)
{
	if (add->filters & XP_BIT(XP_EXCEPT) && !xp_exact(queue))
		(void)xp_slot_kind_known(fd, slot);
	xp_news_before_change(queue, fd, slot);
}

/* The slot's registrations are of this file; change how it is watched. */
static int add_to_known(struct xpoll *queue, int fd, struct xp_slot *slot,
                        const struct xp_interest *add)
{
	enum xp_mode mode;
	unsigned filters;
	int rc;

	if (slot->mode == XP_MODE_UNPOLLABLE) {
		rc = xp_unpollable_confirm(queue, fd);
		if (rc == 0 && add->follows)
			rc = xp_unpollable_follow(queue, fd);
		if (rc == 0)
			xp_unpollable_ask(queue, fd, add->filters);
		return rc;
	}
	news_before_add(queue, fd, slot, add);
	if (xp_slot_holds_edges(slot, xp_exact(queue)) &&
	    !xp_slot_is(fd, slot, XP_KIND_NEWS) &&
	    (!(add->filters & slot->modes.clear & ~(unsigned)slot->solo) ||
	     xp_solo_held(queue, slot, add->filters)))
		return xp_solo_add(queue, fd, slot, add->filters);
	/* Where a change asks no kernel, it would be made to any number. */
	rc = queue->ops->caps & XP_CAP_FREE_CHANGE
		? xp_entry_still(queue, fd, slot, add->filters) : 0;
	if (rc < 0)
		return rc;
	xp_interest_choose(queue, slot, &mode, &filters);
	rc = queue->ops->change(queue->backend, fd,
	                        xp_entry_watch(slot, mode, filters) |
	                        XP_WATCH_AGAIN(add->filters),
	                        xp_entry_next_token(queue, slot, fd));
	if (rc == 0)
		xp_entry_pushed(queue, fd, slot, mode, filters);
	/* The entry that was changed holds edges alone: the others have to be checked. */
	filters = add->filters & slot->enabled & ~filters;
	if (rc == 0 && mode == XP_MODE_EDGE && !xp_exact(queue) && filters)
		xp_recheck_by_sleeper(queue, fd, slot, filters);
	if (rc == 0)
		xp_news_after_change(queue, fd, slot);
	return rc;
}

/* It is exclusive and disabled, or there was no memory: the kernel has it not. */
static int add_to_unknown(struct xpoll *queue, int fd, struct xp_slot *slot,
                          const struct xp_interest *add)
{
	struct xp_slot before = *slot;
	unsigned fresh = add_merge(slot, add);
	int rc;

	xp_count_by(&queue->counters.registered, fresh);
	rc = xp_interest_wanted(queue, fd, slot, add->filters);
	if (rc < 0 && slot->present) {
		before.check.next = slot->check.next;
		*slot = before;
		xp_count_by(&queue->counters.registered,
		            (uint64_t)-(int64_t)fresh);
	}
	return rc;
}

int xp_change_refused(struct xpoll *queue, int fd, struct xp_slot *slot,
                        bool follows, int rc)
{
	if (rc == -EPERM) {
		rc = xp_unpollable_add(queue, fd);
		if (rc == 0)
			slot->mode = XP_MODE_UNPOLLABLE;
		if (rc == 0 && follows)
			rc = xp_unpollable_follow(queue, fd);
	}
	if (rc < 0)
		xp_entry_drop(queue, fd, slot);
	return rc;
}

static int add_fresh(struct xpoll *queue, int fd, struct xp_slot *slot,
                     const struct xp_interest *add)
{
	enum xp_mode mode;
	unsigned filters;
	int rc;

	xp_count_by(&queue->counters.registered, add_merge(slot, add));
	xp_interest_choose(queue, slot, &mode, &filters);
	if (mode == XP_MODE_EXCLUSIVE && !filters)
		filters = slot->present; /* Ask the kernel; silenced below. */
	news_before_add(queue, fd, slot, add);
	rc = xp_entry_attach(queue, fd,
	                        xp_entry_watch(slot, mode, filters),
	                        xp_entry_next_token(queue, slot, fd));
	if (rc < 0)
		return xp_change_refused(queue, fd, slot, add->follows, rc);
	xp_entry_set_mode(queue, slot, mode, filters);
	xp_news_after_change(queue, fd, slot);
	if (!slot->enabled)
		rc = xp_interest_silenced(queue, fd, slot, XP_ALL_FILTERS);
	if (rc < 0)
		xp_entry_drop(queue, fd, slot);
	return rc;
}

static int interest_add(struct xpoll *queue, int fd,
                        const struct xp_interest *add)
{
	struct xp_slot *slot;
	struct xp_slot before;
	unsigned fresh;
	bool exclusive;
	int rc;

	if (fd < 0)
		return -EBADF;
	slot = xp_entry_find(queue, fd);
	if (!slot) {
		/* Numbers that are not open must not cost memory. */
		rc = fd >> XP_PAGE_BITS < queue->slots.pages_len
			? 0 : xp_sys_open_flags(fd);
		slot = rc < 0 ? NULL : xp_slots_make(&queue->slots, fd);
		if (!slot)
			return rc < 0 ? rc : -ENOMEM;
		if (slot->mode == XP_MODE_SOURCE)
			return -EINVAL; /* The queue's own. */
		return add_fresh(queue, fd, slot, add);
	}
	if (slot->mode == XP_MODE_NONE)
		return add_to_unknown(queue, fd, slot, add);
	before = *slot;
	fresh = add_merge(slot, add);
	rc = add_to_known(queue, fd, slot, add);
	if (rc == 0) {
		xp_count_by(&queue->counters.registered, fresh);
		return 0;
	}
	before.check.next = slot->check.next;
	exclusive = slot->modes.exclusive;
	*slot = before;
	if (rc != -ENOENT && rc != -EBADF && rc != -EPERM) {
		xp_entry_not_pushed(queue, slot, exclusive ? XP_MODE_EXCLUSIVE
		                                              : XP_MODE_LEVEL);
		return rc;
	}

	/* Closed without our knowledge, and perhaps opened again. */
	xp_entry_drop(queue, fd, slot);
	return add_fresh(queue, fd, slot, add);
}

/* This kernel has no filter for it. */
static int refuse_except(const struct xpoll *queue, int fd)
{
	bool own;
	int rc = fd < 0 ? -EBADF : xp_sys_open_flags(fd);

	if (rc < 0)
		return rc;
	own = xp_entry_owns(queue, fd) ||
		(fd >> XP_PAGE_BITS < queue->slots.pages_len &&
		 xp_slots_get(&queue->slots, fd)->mode == XP_MODE_SOURCE);
	return own ? -EINVAL : -ENOTSUP;
}

/*
 * What holds already comes with the next wait (S4): what no check finds the kernel
 * has to be asked for, also if that wait has events at hand.
 */
static void next_wait_asks(struct xpoll *queue, int fd, unsigned filters)
{
	const struct xp_slot *slot = xp_slots_get(&queue->slots, fd);

	if (xp_exact(queue) && slot->enabled & filters & ~(unsigned)slot->check.enabled)
		queue->ask.due = true;
}

int xp_change_add(struct xpoll *queue, int fd, const struct xp_interest *add)
{
	int rc = 0;

	if (add->filters & XP_BIT(XP_EXCEPT) && !xp_excepts(queue))
		rc = refuse_except(queue, fd);
	if (rc == 0 && add->lowat)
		rc = xp_lowat_prepare(queue, fd, add->filters);
	if (rc == 0)
		rc = interest_add(queue, fd, add);
	if (rc == 0 && add->lowat)
		xp_lowat_set(queue, fd, add->filters, add->lowat);
	if (rc == 0)
		next_wait_asks(queue, fd, add->filters);
	return rc;
}

static int delete_all(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	int rc = 0;

	if (xp_slot_in_kernel(slot))
		return xp_entry_end(queue, fd, slot);
	if (slot->mode == XP_MODE_UNPOLLABLE)
		rc = xp_unpollable_confirm(queue, fd);
	xp_entry_drop(queue, fd, slot);
	return rc;
}

/* What is requested of a filter has changed: the kernel has not got that yet. */
static void requested_again(struct xpoll *queue, int fd, struct xp_slot *slot,
                            unsigned filters)
{
	slot->armed &= XP_SET(~filters);
	filters &= slot->enabled;
	if (filters)
		xp_recheck_by_sleeper(queue, fd, slot, filters);
}

int xp_change_narrowed(struct xpoll *queue, int fd, struct xp_slot *slot,
                         unsigned kept)
{
	enum xp_mode mode;
	unsigned filters;
	int rc;

	XP_ASSERT(slot->present);
	if (slot->mode == XP_MODE_UNPOLLABLE)
		return xp_unpollable_confirm(queue, fd);
	if (slot->mode == XP_MODE_NONE)
		return 0;
	/* The kernel reports more than is wanted, which is filtered. */
	if (xp_slot_holds_edges(slot, xp_exact(queue)) || queue->ops->caps & XP_CAP_FREE_CHANGE) {
		rc = xp_entry_still(queue, fd, slot,
		                       XP_ALL_FILTERS & ~slot->present);
		if (rc < 0) {
			xp_entry_drop(queue, fd, slot);
			return rc;
		}
	}
	if (xp_slot_holds_edges(slot, xp_exact(queue))) {
		requested_again(queue, fd, slot, kept);
		return 0;
	}
	xp_interest_choose(queue, slot, &mode, &filters);
	return xp_entry_push_again(queue, fd, slot, mode, filters, kept);
}

int xp_change_delete(struct xpoll *queue, int fd, unsigned filters)
{
	struct xp_slot *slot = xp_entry_find(queue, fd);
	int rc;

	filters &= slot ? slot->present : 0;
	if (!filters)
		return not_there(queue, fd);
	if (filters == slot->present)
		return delete_all(queue, fd, slot);
	xp_interest_remove_filters(queue, slot, filters);
	rc = xp_change_narrowed(queue, fd, slot, 0);
	/* The kernel reports more than is wanted, which is filtered. */
	return xp_is_lack(rc) ? 0 : rc;
}

/* The slot if all of these filters are registered. */
static struct xp_slot *find_all(struct xpoll *queue, int fd, unsigned filters)
{
	struct xp_slot *slot = xp_entry_find(queue, fd);

	return slot && !(filters & ~slot->present) ? slot : NULL;
}

int xp_change_enable(struct xpoll *queue, int fd, unsigned filters)
{
	struct xp_slot *slot = find_all(queue, fd, filters);
	uint64_t token;
	uint8_t before;
	int rc;

	if (!slot)
		return not_there(queue, fd);
	before = slot->enabled;
	slot->enabled |= XP_SET(filters);
	token = xp_slot_token(slot, fd);
	rc = xp_interest_wanted(queue, fd, slot, filters);
	if (rc < 0 && xp_slot_is_of(slot, token))
		slot->enabled = before;
	if (rc == 0)
		next_wait_asks(queue, fd, filters);
	return rc;
}

int xp_change_disable(struct xpoll *queue, int fd, unsigned filters)
{
	struct xp_slot *slot = find_all(queue, fd, filters);

	if (!slot)
		return not_there(queue, fd);
	slot->enabled &= XP_SET(~filters);
	return xp_interest_silenced(queue, fd, slot, filters);
}
