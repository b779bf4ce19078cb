/* ADD, DELETE, ENABLE and DISABLE of a descriptor's filters. */
#ifndef XP_CORE_CHANGES_H
#define XP_CORE_CHANGES_H

#include "core/ask.h"
#include "core/candidates.h"
#include "core/marks.h"

/* The parameters of an ADD, by xpoll_event or xpoll_ctl. */
struct xp_interest {
	unsigned filters;
	unsigned modes;     /* bits: XPOLL_CLEAR, XPOLL_ONESHOT, XPOLL_DISPATCH, XPOLL_WHOLE */
	unsigned requested; /* XP_REQUEST_IN ...: the bits of poll(2) that the program asks for */
	uint32_t notes;     /* bits XPOLL_NOTE_COUNT ... of the filters */
	int64_t lowat;      /* low-water mark in bytes, with XPOLL_NOTE_LOWAT */
	bool enable;        /* also enable those of the filters that are registered and disabled */
	/* Disable the filters, new ones as well as registered ones. */
	bool disable;
	bool is_growth_watched; /* if fd is a regular file: watch the file's growth */
	/* Filters that are registered already keep their udata. */
	bool keep_udata;
	union xp_udata udata;
};

/* Change the filters of a descriptor.  Each function returns 0 or a negative errno value. */
int xp_change_add(struct xpoll *queue, int fd, const struct xp_interest *add);
int xp_change_delete(struct xpoll *queue, int fd, unsigned filters);
/*
 * late: receives a change of the kernel's entry that the caller makes after it has released the
 * lock (xp_leave_late); NULL: make all changes at once.
 */
int xp_change_enable(struct xpoll *queue, int fd, unsigned filters, struct xp_late *late);
int xp_change_disable(struct xpoll *queue, int fd, unsigned filters);

/*
 * Try to make an ENABLE or DISABLE that needs no system call and no wake-up of a thread, the common
 * change on epoll.  Returns false, and changes nothing, if the change needs one of these.
 */
static XP_INLINE bool xp_change_freely(struct xpoll *queue, int op, int fd, unsigned filters)
{
	struct xp_slot *slot = xp_slots_find(queue, fd);
	bool checked; /* the next wait checks the slot by poll(2); false: the kernel reports it */

	if (!slot || filters & ~(unsigned)slot->present || !queue->lazy)
		return false;
	checked = slot->mode == XP_MODE_EDGE;
	if (op == XPOLL_DISABLE ? slot->is_exclusive
	    : filters & (slot->solo | ~(unsigned)slot->armed) ||
	    (checked ? xp_has_sleepers(queue) : slot->kind == XP_KIND_CLEARED))
		return false;
	slot->fruitless_checks = 0;
	if (op == XPOLL_ENABLE) {
		slot->enabled |= XP_SET(filters);
		slot->fruitless_reports = 0;
		if (checked) {
			xp_candidate_add_enabled(queue, fd, slot, filters);
		} else {
			xp_slot_outdate_reports(queue, slot);
			xp_ask_soon(queue);
		}
	} else {
		xp_slot_disable(slot, filters);
		xp_candidate_cancel(queue, slot);
	}
	XP_ASSERT(!(slot->enabled & ~(unsigned)slot->present));
	return true;
}

/*
 * Set the bits of READ (POLLIN, POLLRDHUP) that the program still requests after a DELETE of some
 * of them.  Returns 0 or a negative errno value.
 */
int xp_change_request(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned requested);

/* Count a change with result rc.  syscalls: counters.syscalls_change before the change. */
static inline void xp_count_change(struct xpoll *queue, int rc, uint64_t syscalls)
{
	bool free = rc >= 0 && xp_counter_read(&queue->counters.syscalls_change) == syscalls;

	/* xpoll_stats returns changes + changes_free as `changes` */
	++*(free ? &queue->stats.changes_free : &queue->stats.changes);
	queue->stats.change_errors += rc < 0;
}

/*
 * After a delivery of these filters, disable those with DISPATCH and end the registrations of those
 * with ONESHOT; with XPOLL_WHOLE one of them disables or ends all filters of the slot.  Returns the
 * delivered filters that have neither mode and are still enabled.
 */
unsigned xp_change_delivered(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters);

#endif
