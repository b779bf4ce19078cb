/* The event level: xpoll_event applies changes in order, each with its status, and then waits. */

#include "core/changes.h"
#include "core/sleep.h"
#include "core/sources.h"
#include "core/wait.h"
#include "sys/fdnum.h"

#define ACTIONS (XPOLL_ADD | XPOLL_DELETE | XPOLL_ENABLE | XPOLL_DISABLE)
/* Bit N is set if N is a valid combination of ACTIONS. */
#define VALID_ACTIONS \
	(XP_BIT(XPOLL_ADD) | XP_BIT(XPOLL_DELETE) | XP_BIT(XPOLL_ENABLE) | XP_BIT(XPOLL_DISABLE) | \
	 XP_BIT(XPOLL_ADD | XPOLL_ENABLE) | XP_BIT(XPOLL_ADD | XPOLL_DISABLE))
#define MODES   (XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH)
#define KNOWN   (ACTIONS | MODES | XPOLL_RECEIPT | XPOLL_KEEPUDATA | XPOLL_SETUDATA)
#define READ_WRITE_NOTES \
	(XPOLL_NOTE_LOWAT | XPOLL_NOTE_COUNT | XPOLL_NOTE_SOERR | XPOLL_NOTE_EXCLUSIVE)

/*
 * Check the flags of a change; source: the source of the change's filter; NULL: READ, WRITE, EXCEPT
 * or an unknown filter.
 */
static int flags_check(const struct xpoll_event *change, const struct xp_source_ops *source)
{
	unsigned flags = change->flags, actions = flags & ACTIONS;

	if (flags & ~(unsigned)KNOWN ||
	    (flags & (XPOLL_SETUDATA | XPOLL_KEEPUDATA)) == (XPOLL_SETUDATA | XPOLL_KEEPUDATA))
		return -EINVAL;
	/*
	 * Accept a change without an action if the source allows that: the trigger of USER, for
	 * example, is in fflags alone.
	 */
	return VALID_ACTIONS >> actions & 1 ||
		(!actions && source && source->is_action_optional && change->fflags) ? 0 : -EINVAL;
}

static int fd_add(struct xpoll *queue, const struct xpoll_event *change, int fd, unsigned filter)
{
	return xp_change_add(queue, fd, &(struct xp_interest){
		.filters = XP_BIT(filter),
		.modes = change->flags & MODES,
		.requested = filter == XP_READ ? XP_REQUEST_IN
			: filter == XP_EXCEPT && change->fflags ? XP_REQUEST_OOB : 0,
		.notes = filter == XP_EXCEPT ? 0 : change->fflags,
		.lowat = change->data,
		.enable = change->flags & XPOLL_ENABLE,
		.disable = change->flags & XPOLL_DISABLE,
		.is_growth_watched = filter == XP_READ,
		.keep_udata = change->flags & XPOLL_KEEPUDATA,
		.udata.bits = change->udata64,
	});
}

/* Apply a change of READ, WRITE or EXCEPT.  late: see xp_change_enable. */
static int fd_change(struct xpoll *queue, const struct xpoll_event *change, unsigned filter,
                     struct xp_late *late)
{
	uint32_t notes = filter == XP_EXCEPT ? XPOLL_NOTE_OOB : READ_WRITE_NOTES;
	int fd = xp_fd_number(change->ident);
	int rc;

	if (change->fflags & ~notes)
		return -EINVAL;
	/* Refuse a low-water mark below 1 byte, which would always be reached. */
	if (filter != XP_EXCEPT && change->flags & XPOLL_ADD &&
	    change->fflags & XPOLL_NOTE_LOWAT && change->data < 1)
		return -EINVAL;
	if (fd < 0)
		return -EBADF;
	if (change->flags & XPOLL_ADD)
		return fd_add(queue, change, fd, filter);
	if (change->flags & XPOLL_DELETE)
		return xp_change_delete(queue, fd, XP_BIT(filter));
	rc = change->flags & XPOLL_ENABLE ? xp_change_enable(queue, fd, XP_BIT(filter), late)
		: xp_change_disable(queue, fd, XP_BIT(filter));
	if (rc == 0 && change->flags & XPOLL_SETUDATA)
		xp_slots_get(queue, fd)->udata[filter].bits = change->udata64;
	return rc;
}

static int event_change(struct xpoll *queue, const struct xpoll_event *change, struct xp_late *late)
{
	const struct xp_source_ops *source = xp_source_find(change->filter);
	int filter, rc = flags_check(change, source);

	if (rc < 0)
		return rc;
	if (source)
		return xp_registration_change(queue, source, change);
	filter = xp_filter_index(change->filter);
	return filter < 0 ? -EINVAL : fd_change(queue, change, (unsigned)filter, late);
}

/*
 * Apply the changes in order.  Returns the number of statuses stored in events, or the error of the
 * first failed change for which there was no room.  receipts: how many of the changes have
 * XPOLL_RECEIPT.  late: receives what the last change has to do after the lock is released, if
 * nevents is 0 (no wait follows).
 */
static int changes_apply(struct xpoll *queue, const struct xpoll_event *changes, int nchanges,
                         struct xpoll_event *events, int nevents, int receipts,
                         struct xp_late *late)
{
	int len = 0, unreported = 0;
	const struct xp_registration *ahead[XP_AHEAD_MASK + 1];
	bool prefetches = nchanges > XP_AHEAD && queue->registrations.map.len > 0;

	xp_sources_reset_now(queue);
	for (int i = 0; i < nchanges; i++) {
		/*
		 * `events` may be the same array as `changes`: the status of a change overwrites
		 * only this change or earlier ones, which are applied already.
		 */
		const struct xpoll_event *change = &changes[i];
		uint64_t syscalls = xp_counter_read(&queue->counters.syscalls_change);
		int rc;

		if (i % XP_AHEAD == 0 && prefetches)
			xp_registrations_ahead(queue, ahead, changes, i, nchanges);
		rc = event_change(queue, change, nevents || i < nchanges - 1 ? NULL : late);
		xp_count_change(queue, rc, syscalls);
		if (XP_LIKELY(rc >= 0 && !(change->flags & XPOLL_RECEIPT)))
			continue;
		receipts -= (change->flags & XPOLL_RECEIPT) != 0;
		/*
		 * The free records are needed for the receipts of the remaining changes: return the
		 * error instead of storing it.
		 */
		if (len + receipts >= nevents) {
			unreported = unreported ? unreported : rc;
			continue;
		}
		events[len] = *change;
		events[len].flags = XPOLL_ERROR;
		events[len++].data = rc < 0 ? -rc : 0;
	}
	return unreported ? unreported : len;
}

/*
 * Apply the changes; then wait, if the array has room for events and no change has stored a status.
 */
static XP_NOINLINE int event_call(struct xpoll *queue, const struct xpoll_event *changes,
                                  int nchanges, struct xpoll_event *events, int nevents,
                                  int64_t timeout_ns, const void *sigset)
{
	struct xp_late late = {0};
	int receipts = 0, rc = xp_enter(queue);

	if (XP_UNLIKELY(rc < 0))
		return xp_public_result(rc);
	if (nchanges < 0 || nevents < 0 || (nchanges > 0 && !changes) || (nevents > 0 && !events))
		return xp_leave_with(queue, -EINVAL);
	for (int i = 0; i < nchanges; i++)
		receipts += (changes[i].flags & XPOLL_RECEIPT) != 0;
	if (receipts > nevents)
		return xp_leave_with(queue, -EINVAL);
	/*
	 * xp_quiesce may release the lock, and a wait of xpoll_pwait or xpoll_wait may begin
	 * meanwhile: so call it before the check for such waits.
	 */
	if (nchanges > 0)
		xp_quiesce(queue);
	/*
	 * While a thread waits in xpoll_pwait or xpoll_wait, no xpoll_event may wait.  A call with
	 * receipts does not wait, so it is allowed.
	 */
	if (nevents > 0 && receipts == 0 && XP_UNLIKELY(xp_wait_excluded(queue, XP_EVENTS)))
		return xp_leave_with(queue, -EBUSY);
	rc = changes_apply(queue, changes, nchanges, events, nevents, receipts, &late);
	if (rc != 0 || nevents == 0)
		return xp_leave_late(queue, rc, &late);
	return xp_wait_call(queue, XP_EVENTS | XP_LOCK_HELD, events, nevents, timeout_ns, sigset);
}

int xpoll_event_mask(struct xpoll *queue, const struct xpoll_event *changes, int nchanges,
                     struct xpoll_event *events, int nevents, int64_t timeout_ns,
                     const void *sigset)
{
	if (nchanges == 0 && nevents > 0 && events)
		return xp_wait_call(queue, XP_EVENTS, events, nevents, timeout_ns, sigset);
	return event_call(queue, changes, nchanges, events, nevents, timeout_ns, sigset);
}

int xpoll_event(struct xpoll *queue, const struct xpoll_event *changes, int nchanges,
                struct xpoll_event *events, int nevents, int64_t timeout_ns)
{
	if (nchanges == 0 && nevents > 0 && events)
		return xp_wait_call(queue, XP_EVENTS, events, nevents, timeout_ns, NULL);
	return event_call(queue, changes, nchanges, events, nevents, timeout_ns, NULL);
}

struct xpoll_event *xpoll_set(struct xpoll_event *event, uint64_t ident, int filter, int flags,
                              uint32_t fflags, int64_t data, void *udata)
{
	bool fits = filter == (int16_t)filter && flags == (uint16_t)flags;

	event->ident = ident;
	/*
	 * If the filter or the flags do not fit into 16 bits, store filter 0, which every call
	 * refuses.
	 */
	event->filter = fits ? (int16_t)filter : 0;
	event->flags = (uint16_t)flags;
	event->fflags = fflags;
	event->data = data;
	event->udata64 = 0; /* clear all 64 bits, even where pointers have 32 */
	event->udata = udata;
	return event;
}
