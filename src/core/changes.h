/* ADD, DELETE, ENABLE and DISABLE of a descriptor's filters. */
#ifndef XP_CORE_CHANGES_H
#define XP_CORE_CHANGES_H

#include "core/ask.h"
#include "core/candidates.h"
#include "core/marks.h"

struct xp_late;

/* An ADD, as both levels make it. */
struct xp_interest {
	unsigned filters;
	unsigned modes;     /* XPOLL_CLEAR, ONESHOT, DISPATCH, WHOLE */
	unsigned requested; /* XP_REQUEST_IN and so on */
	uint32_t notes;     /* XPOLL_NOTE_COUNT and so on */
	int64_t lowat;      /* with XPOLL_NOTE_LOWAT */
	bool enable;        /* also filters that are registered and disabled */
	bool disable;
	bool follows;       /* the growth of a regular file is watched */
	bool keep_udata;
	union xp_udata udata;
};

/* Each returns 0 or a negative errno value. */
int xp_change_add(struct xpoll *queue, int fd, const struct xp_interest *add);
int xp_change_delete(struct xpoll *queue, int fd, unsigned filters);
/* late: gets what is left to be done without the lock; NULL: nothing may be. */
int xp_change_enable(struct xpoll *queue, int fd, unsigned filters, struct xp_late *late);
int xp_change_disable(struct xpoll *queue, int fd, unsigned filters);

/*
 * ENABLE or DISABLE, if neither the kernel nor another thread has to know: the usual change of a
 * lazy queue.  Returns false if there is more to do, and nothing is done.
 */
static XP_INLINE bool xp_change_freely(struct xpoll *queue, int op, int fd, unsigned filters)
{
	struct xp_slot *slot = xp_slots_at(queue, fd);
	bool checked; /* by this queue; else the kernel reports what holds */

	if (!slot || filters & ~(unsigned)slot->present || !queue->lazy)
		return false;
	checked = slot->mode == XP_MODE_EDGE;
	if (op == XPOLL_DISABLE ? slot->is_exclusive
	    : filters & (slot->solo | ~(unsigned)slot->armed) ||
	    (checked ? xp_has_sleepers(queue) : slot->kind == XP_KIND_NEWS))
		return false;
	slot->idle = 0;
	if (op == XPOLL_ENABLE) {
		slot->enabled |= XP_SET(filters);
		slot->fruitless = 0;
		if (checked) {
			xp_check_enabled(queue, fd, slot, filters);
		} else {
			xp_slot_mark(queue, slot);
			xp_ask_soon(queue);
		}
	} else {
		xp_slot_disable(slot, filters);
		xp_candidate_cancel(queue, slot);
	}
	XP_ASSERT(!(slot->enabled & ~(unsigned)slot->present));
	return true;
}

/* Fewer bits of READ are requested. */
int xp_change_request(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned requested);

/* Count a change; syscalls: the counter of changes in the kernel before it. */
static inline void xp_change_counted(struct xpoll *queue, int rc, uint64_t syscalls)
{
	bool free = rc >= 0 && xp_counter_read(&queue->counters.syscalls_change) == syscalls;

	queue->counters.changes += !free; /* xpoll_stats adds the others */
	queue->counters.changes_free += free;
	queue->counters.change_errors += rc < 0;
}

/* After a delivery: the filter is disabled, or ends. */
void xp_change_delivered(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filter);

#endif
