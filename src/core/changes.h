/* ADD, DELETE, ENABLE and DISABLE of a descriptor's filters. */
#ifndef XP_CORE_CHANGES_H
#define XP_CORE_CHANGES_H

#include "core/ask.h"
#include "core/candidates.h"
#include "core/marks.h"

struct xp_late;

/* The parameters of an ADD, for both levels. */
struct xp_interest {
	unsigned filters;
	unsigned modes;     /* XPOLL_CLEAR, ONESHOT, DISPATCH, WHOLE */
	unsigned requested; /* XP_REQUEST_IN and so on */
	uint32_t notes;     /* XPOLL_NOTE_COUNT and so on */
	int64_t lowat;      /* with XPOLL_NOTE_LOWAT */
	bool enable;        /* also enable filters that are registered and disabled */
	bool disable;
	bool follows;       /* watch the growth of a regular file */
	bool keep_udata;
	union xp_udata udata;
};

/* Each returns 0 or a negative errno value. */
int xp_change_add(struct xpoll *queue, int fd, const struct xp_interest *add);
int xp_change_delete(struct xpoll *queue, int fd, unsigned filters);
/* late: receives a change to make after the lock is released; NULL: make all changes at once. */
int xp_change_enable(struct xpoll *queue, int fd, unsigned filters, struct xp_late *late);
int xp_change_disable(struct xpoll *queue, int fd, unsigned filters);

/*
 * Try to make an ENABLE or DISABLE that needs no system call and no wake-up of a thread, the common
 * change on a lazy queue.  Returns false, and changes nothing, if there is more to do.
 */
static XP_INLINE bool xp_change_freely(struct xpoll *queue, int op, int fd, unsigned filters)
{
	struct xp_slot *slot = xp_slots_at(queue, fd);
	bool checked; /* a wait has to check it; otherwise the kernel reports the state */

	if (!slot || filters & ~(unsigned)slot->present || !queue->lazy)
		return false;
	checked = slot->mode == XP_MODE_EDGE;
	if (op == XPOLL_DISABLE ? slot->is_exclusive
	    : filters & (slot->solo | ~(unsigned)slot->armed) ||
	    (checked ? xp_has_sleepers(queue) : slot->kind == XP_KIND_CLEARED))
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

/* Set the bits of READ that the program requests, which are fewer than before. */
int xp_change_request(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned requested);

/* Count a change with result rc; syscalls: syscalls_change before the change. */
static inline void xp_change_counted(struct xpoll *queue, int rc, uint64_t syscalls)
{
	bool free = rc >= 0 && xp_counter_read(&queue->counters.syscalls_change) == syscalls;

	queue->counters.changes += !free; /* xpoll_stats adds changes_free */
	queue->counters.changes_free += free;
	queue->counters.change_errors += rc < 0;
}

/* After a delivery, disable the filter (DISPATCH) or end it (ONESHOT). */
void xp_change_delivered(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filter);

#endif
