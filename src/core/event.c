/* The event level: changes in order, each with its status; then the wait. */
#include <errno.h>

#include "base/assert.h"
#include "base/result.h"
#include "base/time.h"
#include "core/change.h"
#include "core/enter.h"
#include "core/event_count.h"
#include "core/interest.h"
#include "core/registration.h"
#include "core/wait.h"
#include "os/fdnum.h"
#include "os/sys.h"

#define ACTIONS (XPOLL_ADD | XPOLL_DELETE | XPOLL_ENABLE | XPOLL_DISABLE)
#define MODES   (XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH)
#define KNOWN   (ACTIONS | MODES | XPOLL_RECEIPT | XPOLL_KEEPUDATA | \
                 XPOLL_SETUDATA)
#define READ_WRITE_NOTES (XPOLL_NOTE_LOWAT | XPOLL_NOTE_COUNT | \
                          XPOLL_NOTE_SOERR | XPOLL_NOTE_EXCLUSIVE)

/* The caller's array, as far as statuses and events have filled it. */
struct outcome {
	struct xpoll_event *events;
	int cap;
	int len;
	int receipts; /* slots that are promised to changes still to come */
	int unreported;
};

/* Without an action: one that a source knows by its fflags, as a trigger. */
static bool is_bare(const struct xpoll_event *change)
{
	const struct xp_source_ops *source = xp_source_find(change->filter);

	return source && source->bare && change->fflags;
}

static int flags_check(const struct xpoll_event *change)
{
	unsigned flags = change->flags;
	unsigned actions = flags & ACTIONS;

	/* One action, and what goes with all of them. */
	if (XP_LIKELY(!(flags & ~(unsigned)(ACTIONS | MODES | XPOLL_RECEIPT)) && actions &&
	              !(actions & (actions - 1))))
		return 0;
	if (flags & ~(unsigned)KNOWN)
		return -EINVAL;
	if (flags & XPOLL_DELETE && actions != XPOLL_DELETE)
		return -EINVAL;
	if (flags & XPOLL_ENABLE && flags & XPOLL_DISABLE)
		return -EINVAL;
	if (flags & XPOLL_SETUDATA && flags & XPOLL_KEEPUDATA)
		return -EINVAL;
	return actions || is_bare(change) ? 0 : -EINVAL;
}

static int fd_notes_check(const struct xpoll_event *change)
{
	uint32_t known = change->filter == XPOLL_FILT_EXCEPT ? XPOLL_NOTE_OOB
		: READ_WRITE_NOTES;

	if (change->fflags & ~known)
		return -EINVAL;
	/* A mark of nothing would be an event without a reason. */
	return change->filter != XPOLL_FILT_EXCEPT &&
		change->flags & XPOLL_ADD && change->fflags & XPOLL_NOTE_LOWAT &&
		change->data < 1 ? -EINVAL : 0;
}

static int fd_add(struct xpoll *queue, const struct xpoll_event *change, int fd,
                  unsigned filter)
{
	unsigned flags = change->flags;
	struct xp_interest add = {
		.filters = XP_BIT(filter),
		.modes = (int)flags & MODES,
		.requested = filter == XP_READ ? XP_REQUEST_IN : 0,
		.enable = flags & XPOLL_ENABLE,
		.disable = flags & XPOLL_DISABLE,
		.follows = filter == XP_READ,
		.keep_udata = flags & XPOLL_KEEPUDATA,
		.udata = xp_udata_bits(change->udata64),
	};

	if (filter == XP_EXCEPT && change->fflags & XPOLL_NOTE_OOB)
		add.requested = XP_REQUEST_OOB;
	if (filter != XP_EXCEPT) {
		add.exclusive = change->fflags & XPOLL_NOTE_EXCLUSIVE;
		add.lowat = change->fflags & XPOLL_NOTE_LOWAT ? change->data : 0;
		add.counted = change->fflags & XPOLL_NOTE_COUNT;
		add.soerr = change->fflags & XPOLL_NOTE_SOERR;
	}
	return xp_change_add(queue, fd, &add);
}

static int fd_change(struct xpoll *queue, const struct xpoll_event *change,
                     unsigned filter)
{
	int fd = xp_fd_number(change->ident);
	int rc = fd_notes_check(change);

	if (rc < 0)
		return rc;
	if (fd < 0)
		return -EBADF;
	if (change->flags & XPOLL_ADD)
		return fd_add(queue, change, fd, filter);
	if (change->flags & XPOLL_DELETE)
		return xp_change_delete(queue, fd, XP_BIT(filter));
	if (change->flags & XPOLL_ENABLE)
		rc = xp_change_enable(queue, fd, XP_BIT(filter));
	else
		rc = xp_change_disable(queue, fd, XP_BIT(filter));
	if (rc == 0 && change->flags & XPOLL_SETUDATA)
		xp_slots_get(&queue->slots, fd)->udata[filter] = xp_udata_bits(change->udata64);
	return rc;
}

static XP_NOINLINE int change_fd(struct xpoll *queue, const struct xpoll_event *change)
{
	int rc = flags_check(change);

	return rc < 0 ? rc : fd_change(queue, change, (unsigned)xp_filter_index(change->filter));
}

static XP_NOINLINE int change_source(struct xpoll *queue,
                                     const struct xpoll_event *change,
                                     const struct xp_ahead *ahead)
{
	int rc = flags_check(change);

	return rc < 0 ? rc : xp_registration_change(queue, change, ahead);
}

/* ADD of READ or WRITE to a descriptor of which nothing is registered. */
static XP_INLINE int change_add_first(struct xpoll *queue,
                                      const struct xpoll_event *change, int fd,
                                      struct xp_slot *slot, unsigned filter)
{
	unsigned bit = XP_BIT(filter);
	bool clear = change->flags & XPOLL_CLEAR;
	enum xp_mode mode = clear ? XP_MODE_EDGE : XP_MODE_LEVEL;
	uint32_t watch;
	int rc;

	slot->udata[filter] = xp_udata_bits(change->udata64);
	slot->present = XP_SET(bit);
	slot->enabled = XP_SET(bit);
	slot->modes.clear = clear ? XP_SET(bit) : 0;
	slot->count.filters = change->fflags & XPOLL_NOTE_COUNT
		? bit & XP_ALL_FILTERS : 0;
	slot->requested = filter == XP_READ ? XP_REQUEST_IN : 0;
	XP_ASSERT(xp_interest_chosen(queue, slot, mode, bit));
	xp_count(&queue->counters.registered);
	watch = xp_entry_probe_bits(slot, bit) | (clear ? XP_WATCH_EDGE : 0);
	rc = xp_entry_attach(queue, fd, watch, xp_entry_next_token(queue, slot, fd));
	if (XP_UNLIKELY(rc < 0))
		return xp_change_refused(queue, fd, slot, filter == XP_READ, rc);
	xp_entry_set_mode(queue, slot, mode, bit);
	queue->ask.due = true; /* As after xp_change_add. */
	return 0;
}

/*
 * The change that a loop makes most, with the lock held; false: it is another,
 * or not so simple, and nothing was done.
 */
static XP_INLINE bool event_free_change(struct xpoll *queue,
                                        const struct xpoll_event *change)
{
	unsigned action = change->flags & ~(unsigned)XPOLL_SETUDATA;
	unsigned filter = ~(unsigned)change->filter; /* -1: 0, -2: 1 */
	int fd = xp_fd_number(change->ident);
	struct xp_slot *slot;

	_Static_assert(XPOLL_FILT_READ == ~XP_READ &&
	               XPOLL_FILT_WRITE == ~XP_WRITE, "filters in their order");
	if ((action != XPOLL_ENABLE && action != XPOLL_DISABLE) ||
	    filter > XP_WRITE || change->fflags & ~READ_WRITE_NOTES || fd < 0)
		return false;
	slot = xp_interest_free_change(queue, fd, XP_BIT(filter),
	                               change->flags & XPOLL_ENABLE, false);
	if (slot && change->flags & XPOLL_SETUDATA)
		slot->udata[filter] = xp_udata_bits(change->udata64);
	return slot;
}

/*
 * Descriptors come and go with one filter, mostly, and each change costs a
 * system call: the functions around that are what can be saved.  False: it is
 * another change, and nothing was done.
 */
static XP_INLINE bool change_usual(struct xpoll *queue,
                                   const struct xpoll_event *change, int *rc)
{
	const unsigned modes = XPOLL_ENABLE | XPOLL_CLEAR;
	unsigned filter = ~(unsigned)change->filter; /* as in event_free_change */
	int fd = xp_fd_number(change->ident);
	struct xp_slot *slot;

	if (filter > XP_WRITE || change->fflags & ~(uint32_t)XPOLL_NOTE_COUNT ||
	    fd < 0)
		return false;
	slot = xp_slots_at(&queue->slots, fd);
	if (!slot)
		return false;
	if (change->flags == XPOLL_DELETE) {
		if (slot->present != XP_BIT(filter) || !xp_slot_in_kernel(slot))
			return false;
		*rc = xp_entry_end(queue, fd, slot);
		return true;
	}
	if ((change->flags & ~modes) != XPOLL_ADD || slot->present ||
	    slot->mode != XP_MODE_NONE)
		return false;
	*rc = change_add_first(queue, change, fd, slot, filter);
	return true;
}

/* An error's status must not take the room that is promised to receipts of later changes. */
static XP_NOINLINE void report_status(struct outcome *outcome,
                          const struct xpoll_event *change, int rc)
{
	struct xpoll_event *status;

	if (change->flags & XPOLL_RECEIPT)
		outcome->receipts--;
	if (outcome->len + outcome->receipts >= outcome->cap) {
		if (!outcome->unreported)
			outcome->unreported = rc;
		return;
	}
	status = &outcome->events[outcome->len++];
	*status = *change;
	status->flags = XPOLL_ERROR;
	status->data = rc < 0 ? -rc : 0;
}

static XP_INLINE void changes_apply(struct xpoll *queue,
                                    const struct xpoll_event *changes,
                                    int nchanges, struct outcome *outcome)
{
	struct xp_ahead ahead[XP_PREFETCH_RING];
	int next = 0;

	queue->change_ns = XP_NOW;
	for (int i = 0; i < nchanges; i++) {
		/* Statuses may go to the same array, but not beyond this one. */
		const struct xpoll_event *change = &changes[i];
		uint64_t syscalls;
		int rc;

		syscalls = xp_counter_read(&queue->counters.syscalls_change);
		if (xp_filter_index(change->filter) < 0) {
			for (; next <= i; next += XP_PREFETCH_AHEAD)
				xp_registration_prefetch(queue, ahead, changes, next,
				                         nchanges);
			rc = change_source(queue, change, &ahead[i % XP_PREFETCH_RING]);
		} else if (event_free_change(queue, change)) {
			continue;
		} else if (!change_usual(queue, change, &rc)) {
			rc = change_fd(queue, change);
		}
		xp_change_counted(queue, rc, syscalls);
		if (XP_UNLIKELY(rc < 0 || change->flags & XPOLL_RECEIPT))
			report_status(outcome, change, rc);
	}
}

static int arguments_check(const struct xpoll_event *changes, int nchanges,
                           struct outcome *outcome)
{
	if (nchanges < 0 || outcome->cap < 0 || (nchanges > 0 && !changes) ||
	    (outcome->cap > 0 && !outcome->events))
		return -EINVAL;
	for (int i = 0; i < nchanges; i++)
		if (changes[i].flags & XPOLL_RECEIPT)
			outcome->receipts++;
	return outcome->receipts > outcome->cap ? -EINVAL : 0;
}

/*
 * Apply the changes; the caller has the lock.  0: there is nothing to report,
 * and it still has it.  Else the lock is released: so many statuses are in
 * events, or it is a negative errno value.
 */
static XP_INLINE int event_make(struct xpoll *queue,
                                const struct xpoll_event *changes,
                                int nchanges, struct xpoll_event *events,
                                int nevents)
{
	struct outcome outcome = {.events = events, .cap = nevents};
	int rc = arguments_check(changes, nchanges, &outcome);

	if (rc == 0) {
		if (XP_UNLIKELY(nchanges > 0 && queue->threads.waiters > 0))
			xp_quiesce(queue);
		changes_apply(queue, changes, nchanges, &outcome);
		rc = outcome.unreported ? outcome.unreported : outcome.len;
	}
	if (rc != 0)
		xp_leave(queue);
	return rc;
}

/* The same before a wait: apart, as most waits make one change at the most. */
static XP_NOINLINE int event_make_before_wait(struct xpoll *queue,
                                           const struct xpoll_event *changes,
                                           int nchanges, struct xpoll_event *events,
                                           int nevents)
{
	return event_make(queue, changes, nchanges, events, nevents);
}

/* The changes are all there is to do. */
static int event_changes(struct xpoll *queue, const struct xpoll_event *changes,
                         int nchanges)
{
	int rc = queue ? xp_enter(queue) : -EINVAL;

	if (rc == 0)
		rc = event_make(queue, changes, nchanges, NULL, 0);
	if (rc == 0)
		xp_leave(queue);
	return xp_result(rc);
}

/*
 * A thread is in a wait of the poll-like level.  This call may not wait as well, which it does
 * unless it has receipts to return.
 */
static XP_NOINLINE bool event_excluded(const struct xpoll_event *changes, int nchanges)
{
	for (int i = 0; changes && i < nchanges; i++)
		if (changes[i].flags & XPOLL_RECEIPT)
			return false;
	return true;
}

/*
 * Enter, and make the changes.  A program that handles one event after the other
 * mostly makes one, and that is a mark: nothing to be called for.
 */
static XP_INLINE int event_enter(struct xpoll *queue,
                                 const struct xpoll_event *changes,
                                 int nchanges, struct xpoll_event *events,
                                 int nevents)
{
	int rc = queue ? xp_enter(queue) : -EINVAL;

	if (rc < 0)
		return rc;
	if (xp_poll_level_waits(queue) && nevents > 0 &&
	    event_excluded(changes, nchanges))
		return xp_leave_with(queue, -EBUSY);
	if (XP_LIKELY(events && nevents > 0)) {
		if (nchanges == 0)
			return 0;
		if (XP_LIKELY(nchanges == 1 && changes && queue->threads.waiters == 0 &&
		              event_free_change(queue, changes)))
			return 0;
	}
	return event_make_before_wait(queue, changes, nchanges, events, nevents);
}

static XP_INLINE int event_wait(struct xpoll *queue, struct xp_wait *wait, bool alone)
{
	int rc = xp_wait_run(queue, wait, alone);

	xp_count_by(&queue->counters.events, (uint64_t)wait->len);
	xp_event_count_finish(queue, wait);
	return xp_wait_leave(queue, wait, rc, alone);
}

static XP_NOINLINE int event_wait_among_others(struct xpoll *queue, struct xpoll_event *events,
                                               int nevents, int64_t deadline_ns,
                                               const void *sigset)
{
	sigset_t held;
	struct xp_wait wait = {
		.events = events,
		.cap = nevents,
		.deadline_ns = deadline_ns,
		.mask = sigset,
		.held = &held,
	};

	xp_wait_admitted(queue, &wait);
	return event_wait(queue, &wait, false);
}

static XP_INLINE int event_and_wait(struct xpoll *queue,
                                    const struct xpoll_event *changes,
                                    int nchanges, struct xpoll_event *events,
                                    int nevents, int64_t timeout_ns,
                                    const void *sigset)
{
	int rc = event_enter(queue, changes, nchanges, events, nevents);
	int64_t deadline_ns;

	if (XP_UNLIKELY(rc != 0))
		return xp_result(rc);
	deadline_ns = timeout_ns < 0 ? XP_NEVER : timeout_ns == 0 ? XP_NOW
		: xp_deadline(xp_sys_now(), timeout_ns);
	if (XP_UNLIKELY(queue->lock.held))
		return event_wait_among_others(queue, events, nevents, deadline_ns, sigset);
	queue->alone.wait = (struct xp_wait){
		.events = events,
		.cap = nevents,
		.deadline_ns = deadline_ns,
		.mask = sigset,
	};
	return event_wait(queue, &queue->alone.wait, true);
}

int xpoll_event(struct xpoll *queue, const struct xpoll_event *changes,
                int nchanges, struct xpoll_event *events, int nevents,
                int64_t timeout_ns)
{
	if (nevents == 0)
		return event_changes(queue, changes, nchanges);
	return event_and_wait(queue, changes, nchanges, events, nevents,
	                      timeout_ns, NULL);
}

int xpoll_event_mask(struct xpoll *queue, const struct xpoll_event *changes,
                     int nchanges, struct xpoll_event *events, int nevents,
                     int64_t timeout_ns, const void *sigset)
{
	if (nevents == 0)
		return event_changes(queue, changes, nchanges);
	return event_and_wait(queue, changes, nchanges, events, nevents,
	                      timeout_ns, sigset);
}

struct xpoll_event *xpoll_set(struct xpoll_event *event, uint64_t ident,
                              int filter, int flags, uint32_t fflags,
                              int64_t data, void *udata)
{
	bool fits = filter == (int16_t)filter && flags == (uint16_t)flags;

	event->ident = ident;
	/* What has no place in a record makes one that every call refuses. */
	event->filter = fits ? (int16_t)filter : 0;
	event->flags = (uint16_t)flags;
	event->fflags = fflags;
	event->data = data;
	event->udata64 = 0; /* All of it, also where pointers are short. */
	event->udata = udata;
	return event;
}
