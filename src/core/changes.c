/* ADD, DELETE, ENABLE and DISABLE of a descriptor's filters. */
#include "core/changes.h"

#include "base/result.h"
#include "core/count.h"
#include "core/entry.h"
#include "core/files.h"

/*
 * Returns the error of a change of filters that are not registered: -EBADF if fd is closed, else
 * -ENOENT.
 */
static int unregistered_error(struct xpoll *queue, int fd)
{
	int rc = fd < 0 ? -EBADF : xp_sys_open_flags(fd);

	xp_count(&queue->counters.syscalls_check);
	return rc < 0 ? rc : -ENOENT;
}

/* Returns `set` with these filters added (`in` is true) or removed. */
static uint8_t put_if(unsigned set, unsigned filters, bool in)
{
	return XP_SET(in ? set | filters : set & ~filters);
}

/*
 * Store the parameters of an ADD in the slot.  A filter that is registered already stays disabled
 * unless `enable` is set, keeps its udata with `keep_udata`, and keeps its modes besides the new
 * ones, but not its notes.
 */
static void store_add(struct xpoll *queue, struct xp_slot *slot, const struct xp_interest *add)
{
	unsigned filters = add->filters, fresh = filters & ~(unsigned)slot->present;

	for (unsigned left = filters; left; left &= left - 1) {
		unsigned i = XP_LOWEST_BIT(left);

		if (!add->keep_udata || fresh & XP_BIT(i))
			slot->udata[i] = add->udata;
		queue->stats.registered += fresh >> i & 1;
	}
	slot->present |= XP_SET(filters);
	slot->enabled |= XP_SET(add->enable ? filters : fresh);
	if (add->disable)
		xp_slot_disable(slot, filters);
	if (add->modes) {
		slot->clear |= XP_SET(add->modes & XPOLL_CLEAR ? filters : 0);
		slot->oneshot |= XP_SET(add->modes & XPOLL_ONESHOT ? filters : 0);
		slot->dispatch |= XP_SET(add->modes & XPOLL_DISPATCH ? filters : 0);
		slot->whole |= add->modes & XPOLL_WHOLE ? 1 : 0;
	}
	if (add->notes || filters != fresh) {
		slot->exclusive = put_if(slot->exclusive, filters,
		                         add->notes & XPOLL_NOTE_EXCLUSIVE) & 7;
		slot->count_filters = put_if(slot->count_filters, filters,
		                             add->notes & XPOLL_NOTE_COUNT) & 7;
		slot->so_error = put_if(slot->so_error, filters, add->notes & XPOLL_NOTE_SOERR) & 7;
		slot->lowat = put_if(slot->lowat, filters, add->notes & XPOLL_NOTE_LOWAT) & 7;
		slot->pipe_size_log2 = 0; /* size of the pipe unknown: count.c queries it again */
	}
	/*
	 * An ADD of READ that requests no bits takes back POLLIN and POLLRDHUP of earlier ADDs.
	 * XP_REQUEST_OOB stays, because EXCEPT has requested that.
	 */
	slot->requested &= filters & XP_BIT(XP_READ) && !add->requested ? XP_REQUEST_OOB : 0xff;
	slot->requested |= XP_SET(add->requested);
	XP_ASSERT(!(slot->enabled & ~(unsigned)slot->present));
}

/*
 * Called after an ENABLE: make the next wait find the state of the enabled filters, by a check with
 * poll(2) or by a report of the kernel.  late: receives a change of the kernel's entry that the
 * caller makes after the lock was released; NULL: make all changes at once.
 */
static int arm_or_recheck(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters,
                          struct xp_late *late)
{
	unsigned solo = filters & slot->solo, mine = xp_entry_wanted(queue, slot);
	bool awaited = xp_has_sleepers(queue) && xp_slot_can_probe(fd, slot);
	int rc = 0;

	if (solo && (solo & (slot->clear | slot->armed) || awaited || !xp_slot_can_probe(fd, slot)))
		rc = xp_solo_arm(queue, fd, slot, solo);
	else if (solo)
		xp_candidate_add_enabled(queue, fd, slot, solo);
	filters &= mine;
	if (!filters || rc < 0 || xp_change_freely(queue, XPOLL_ENABLE, fd, filters))
		return rc;
	bool silent = xp_entry_is_silent(queue, slot);
	/*
	 * A silent entry (one-shot, and has reported) costs each ENABLE a change, and a
	 * level-triggered one mostly none.  So after each 64th report (`reports` is 0 again) this
	 * ENABLE makes the entry level-triggered, as a trial; but not while threads sleep: one
	 * would return with a report older than this ENABLE, and poll again.  If several threads
	 * wait (`together`), that is cheaper for one sleeping thread than a change for each event.
	 */
	bool tries = silent && slot->reports == 0 &&
		queue->threads.sleepers <= (queue->threads.together > 0) &&
		xp_entry_wanted_mode(queue, slot) == XP_MODE_LEVEL;
	if ((xp_poll_clears(queue, slot) && !(filters & ~(unsigned)slot->armed)) ||
	    (silent && !tries && !late && !xp_has_sleepers(queue) && xp_slot_can_probe(fd, slot))) {
		/*
		 * Have the next wait check the slot, together with all others to check by one
		 * poll(2), instead of changing its entry.  That is cheaper for silent entries
		 * (one-shot, and have reported) if more changes or a wait follow in this call, and
		 * necessary for files whose bits a change clears.
		 */
		xp_candidate_add_enabled(queue, fd, slot, filters);
	} else if (silent) {
		rc = xp_entry_arm_late(queue, fd, slot, tries ? XP_MODE_LEVEL : XP_MODE_ONCE, late);
	} else if (filters & ~(unsigned)slot->armed) {
		rc = xp_entry_arm_wanted(queue, fd, slot, filters);
	} else if (awaited && xp_entry_may_report_once(queue, slot)) {
		/*
		 * A change that fails after the lock was released (late_change_failed) disables all
		 * filters of the entry.  If other filters of the entry were enabled before this
		 * call, those filters must stay enabled: change the entry at once.
		 */
		rc = xp_entry_arm_late(queue, fd, slot, XP_MODE_ONCE,
		                       mine & slot->enabled & ~filters ? NULL : late);
	} else if (awaited && !xp_change_repeats_edge(queue, slot, filters)) {
		/*
		 * The branch below leaves the filters to a check by poll(2), which a thread that
		 * sleeps in the kernel does not make: change the entry, so that the kernel reports
		 * the filters.
		 */
		rc = xp_entry_arm_wanted(queue, fd, slot, filters);
	} else {
		if (awaited)
			xp_kick_request(queue);
		xp_candidate_add_enabled(queue, fd, slot, filters);
	}
	return rc;
}

/*
 * On a queue that is not lazy (not on epoll): pass the enabled filters to the back end.  again: the
 * filters that were enabled now, which the back end or poll(2) has to check; 0: none.
 */
static int change_pass_to_backend(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned again)
{
	struct xp_slot before = *slot;
	int rc = xp_entry_arm_wanted(queue, fd, slot, again);

	if (rc < 0)
		return rc;
	if (!again) {
		/*
		 * Nothing was enabled, so reports from before this change are not outdated: undo
		 * the xp_slot_outdate_reports of the change, which would make the queue check the
		 * state instead of delivering them.
		 */
		slot->cutoff = before.cutoff;
		slot->has_cutoff = before.has_cutoff;
	} else if (slot->mode == XP_MODE_LEVEL && !queue->ops->flush) {
		/*
		 * Have the next wait check this descriptor: a poll(2) of it is cheaper than one of
		 * the back end's whole array.
		 */
		xp_candidate_add_enabled(queue, fd, slot, again);
	} else {
		xp_ask_soon(queue);
	}
	return 0;
}

/* --- ADD -------------------------------------------------------------------------- */

/*
 * Called before an ADD makes or changes an entry: keeps the bits that the kernel's poll in that
 * change would clear.
 */
static void defer_before_add(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters)
{
	/*
	 * Most files whose bits poll(2) clears report POLLPRI.  So on epoll only an ADD with EXCEPT
	 * queries the kind of the file; other ADDs save that system call.
	 */
	if (queue->lazy && filters & XP_BIT(XP_EXCEPT) && xp_slot_kind(fd, slot) == XP_KIND_CLEARED)
		xp_defer_before_change(queue, fd, slot);
}

/* Apply an ADD to a slot without registrations.  Returns 0 or a negative errno value. */
static int add_new(struct xpoll *queue, int fd, struct xp_slot *slot, const struct xp_interest *add)
{
	int rc;

	store_add(queue, slot, add);
	defer_before_add(queue, fd, slot, add->filters);
	rc = xp_entry_attach(queue, fd, slot);
	if (rc == -EPERM) {
		rc = xp_file_add(queue, fd, add->is_growth_watched);
		slot->mode = rc < 0 ? XP_MODE_NONE : XP_MODE_FILE;
	}
	if (rc < 0) {
		slot->mode = XP_MODE_NONE;
		xp_entry_drop(queue, fd, slot);
	} else if (slot->deferred && slot->enabled) {
		xp_candidate_add_enabled(queue, fd, slot, slot->enabled);
	}
	xp_ask_soon(queue);
	return rc;
}

/*
 * Change the kernel's entries of a slot for the filters that an ADD names.  before: the filters
 * that the main entry had before.  Returns 0 or a negative errno value.
 */
static int update_entries_for_add(struct xpoll *queue, int fd, struct xp_slot *slot,
                                  unsigned filters, unsigned before)
{
	unsigned solo;
	int rc;

	if (!queue->lazy) {
		/*
		 * The back end's change makes no system call that would notice a reused descriptor,
		 * so call xp_entry_verify.
		 */
		rc = slot->mode == XP_MODE_NONE ? 0 : xp_entry_verify(queue, fd, slot, filters);
		if (rc == 0)
			rc = xp_entry_arm_wanted(queue, fd, slot, filters);
		xp_ask_soon(queue);
		return rc;
	}
	defer_before_add(queue, fd, slot, filters);
	solo = xp_solo_wanted(queue, slot, filters, before);
	slot->solo |= solo & XP_ALL_FILTERS;
	slot->armed &= XP_SET(~solo);
	if (xp_entry_wanted(queue, slot) & filters || xp_entry_wanted(queue, slot) != before)
		rc = xp_entry_arm_wanted(queue, fd, slot, filters);
	else
		rc = xp_entry_verify(queue, fd, slot, filters);
	filters &= slot->solo & slot->enabled;
	return rc == 0 && filters ? arm_or_recheck(queue, fd, slot, filters, NULL) : rc;
}

/* Apply an ADD to a slot with registrations.  Returns 0 or a negative errno value. */
static int add_more(struct xpoll *queue, int fd, struct xp_slot *slot,
                    const struct xp_interest *add)
{
	uint64_t registered = queue->stats.registered;
	struct xp_slot before;
	int rc;

	xp_late_await(slot);
	before = *slot;
	store_add(queue, slot, add);
	if (slot->mode == XP_MODE_FILE)
		rc = xp_file_add_again(queue, fd, add->filters, add->is_growth_watched);
	else
		rc = update_entries_for_add(queue, fd, slot, add->filters,
		                            xp_entry_wanted(queue, &before));
	if (rc == 0)
		return 0;
	if (xp_is_gone_error(rc) || rc == -EPERM) {
		/*
		 * The registered file was closed: end its registrations.  fd may refer to another
		 * file now: register that file.
		 */
		if (slot->present)
			xp_entry_drop(queue, fd, slot);
		return add_new(queue, fd, slot, add);
	}
	before.next = slot->next;
	/*
	 * Restore the slot as before the ADD, except the members that describe the kernel's main
	 * entry: a change of that entry may have succeeded before the failure.
	 */
	before.arming = slot->arming;
	before.mode = slot->mode;
	before.armed &= slot->armed;
	*slot = before;
	queue->stats.registered = registered;
	return rc;
}

/*
 * Called if the back end does not support EXCEPT.  Returns the error of the ADD: -ENOTSUP, or a
 * more specific error, such as -EBADF for a closed descriptor.
 */
static int except_refusal_error(struct xpoll *queue, int fd)
{
	const struct xp_slot *slot = fd < 0 ? NULL : xp_slots_find(queue, fd);
	int rc = unregistered_error(queue, fd);

	return rc != -ENOENT ? rc
		: xp_queue_owns_fd(queue, fd) || (slot && slot->mode == XP_MODE_SOURCE) ? -EINVAL
		: -ENOTSUP;
}

/*
 * Apply an ADD to the descriptor's slot, which is allocated if necessary.  Returns 0 or a negative
 * errno value.
 */
static int change_add(struct xpoll *queue, int fd, const struct xp_interest *add)
{
	struct xp_slot *slot = xp_entry_find(queue, fd);
	int rc;

	if (fd < 0)
		return -EBADF;
	if (slot)
		return add_more(queue, fd, slot, add);
	slot = xp_slots_find(queue, fd);
	rc = slot ? 0 : xp_sys_open_flags(fd); /* do not allocate a slot for a closed descriptor */
	if (rc < 0)
		return rc;
	slot = slot ? slot : xp_slots_make(queue, fd);
	if (!slot)
		return -ENOMEM;
	return slot->mode == XP_MODE_SOURCE ? -EINVAL : add_new(queue, fd, slot, add);
}

/* Apply an ADD with a low-water mark (XPOLL_NOTE_LOWAT) of one filter. */
static XP_NOINLINE int add_with_lowat(struct xpoll *queue, int fd, const struct xp_interest *add)
{
	unsigned filter = XP_LOWEST_BIT(add->filters);
	int rc = xp_lowat_prepare(queue, fd, filter);

	if (rc == 0)
		rc = change_add(queue, fd, add);
	if (rc == 0)
		xp_lowat_set(queue, fd, filter, add->lowat);
	return rc;
}

int xp_change_add(struct xpoll *queue, int fd, const struct xp_interest *add)
{
	if (add->filters & XP_BIT(XP_EXCEPT) && !(queue->ops->caps & XP_CAP_EXCEPT))
		return except_refusal_error(queue, fd);
	return add->notes & XPOLL_NOTE_LOWAT ? add_with_lowat(queue, fd, add)
		: change_add(queue, fd, add);
}

/* --- The other changes ------------------------------------------------------------ */

/*
 * Called after a DELETE: takes the removed filters or bits out of the kernel's main entry, and
 * checks that the descriptor was not reused.  filters: those of the main entry that the DELETE
 * named; confirmed: the removal of a solo entry (for one filter) has shown that fd was not reused.
 */
static int change_narrow(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters,
                         bool confirmed)
{
	/*
	 * Leave the main entry as it is if it had none of the removed filters, or if a change would
	 * report a delivered edge again.
	 */
	bool held = queue->lazy && (!filters || xp_change_repeats_edge(queue, slot, 0));
	bool is_file = slot->mode == XP_MODE_FILE;
	int rc = 0;

	if (slot->mode == XP_MODE_NONE)
		return 0;
	if (!confirmed && (held || is_file || !queue->lazy))
		rc = xp_entry_verify(queue, fd, slot, XP_ALL_FILTERS & ~(unsigned)slot->present);
	if (xp_is_gone_error(rc))
		xp_entry_drop(queue, fd, slot);
	if (rc < 0 || held || is_file)
		return rc;
	rc = queue->lazy ? xp_entry_arm_wanted(queue, fd, slot, XP_ALL_FILTERS)
		: change_pass_to_backend(queue, fd, slot, 0);
	/*
	 * If memory is lacking, the entry stays as it was: the kernel reports more than is
	 * requested, and the queue ignores the reports that nobody requested.
	 */
	return xp_is_lack(rc) ? 0 : rc;
}

int xp_change_request(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned requested)
{
	slot->requested = XP_SET(requested | (slot->requested & XP_REQUEST_OOB));
	return change_narrow(queue, fd, slot, XP_BIT(XP_READ) & xp_entry_wanted(queue, slot),
	                     false);
}

int xp_change_delete(struct xpoll *queue, int fd, unsigned filters)
{
	struct xp_slot *slot = xp_entry_find(queue, fd);

	filters &= slot ? slot->present : 0;
	if (!filters)
		return unregistered_error(queue, fd);
	if (filters == slot->present)
		return xp_entry_end(queue, fd, slot, false);
	unsigned mine = filters & xp_entry_wanted(queue, slot);
	bool confirmed = xp_solo_end(queue, fd, slot, filters);
	xp_slot_remove_filters(queue, slot, filters);
	return change_narrow(queue, fd, slot, mine, confirmed);
}

int xp_change_enable(struct xpoll *queue, int fd, unsigned filters, struct xp_late *late)
{
	struct xp_slot *slot = xp_entry_find(queue, fd);
	uint8_t before;
	int rc;

	if (xp_change_freely(queue, XPOLL_ENABLE, fd, filters))
		return 0;
	if (!slot || filters & ~(unsigned)slot->present)
		return unregistered_error(queue, fd);
	before = slot->enabled;
	slot->enabled |= XP_SET(filters);
	slot->fruitless_reports = 0;
	slot->fruitless_checks = 0;
	if (slot->mode == XP_MODE_FILE) {
		xp_file_schedule_check(queue, fd, filters);
		return 0;
	}
	rc = queue->lazy ? arm_or_recheck(queue, fd, slot, filters, late)
		: change_pass_to_backend(queue, fd, slot, filters);
	if (rc < 0)
		slot->enabled &= before;
	return rc;
}

/*
 * Disable these filters.  On a lazy queue (epoll) the kernel's entry stays as it is, unless the
 * entry is exclusive; other back ends get the change.  Returns 0 or a negative errno value.
 */
static int disable_filters(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters)
{
	int rc = 0;

	xp_slot_disable(slot, filters);
	slot->fruitless_checks = 0;
	if (XP_UNLIKELY(slot->is_exclusive))
		rc = xp_entry_arm_wanted(queue, fd, slot, 0);
	else if (!queue->lazy && slot->mode != XP_MODE_FILE)
		rc = change_pass_to_backend(queue, fd, slot, 0);
	return xp_is_lack(rc) ? 0 : rc;
}

int xp_change_disable(struct xpoll *queue, int fd, unsigned filters)
{
	struct xp_slot *slot = xp_entry_find(queue, fd);

	if (xp_change_freely(queue, XPOLL_DISABLE, fd, filters))
		return 0;
	if (!slot || filters & ~(unsigned)slot->present)
		return unregistered_error(queue, fd);
	return disable_filters(queue, fd, slot, filters);
}

unsigned xp_change_delivered(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters)
{
	unsigned plain = filters & ~(unsigned)(slot->oneshot | slot->dispatch);

	for (filters &= ~plain; (filters &= slot->enabled); filters &= filters - 1) {
		unsigned bit = XP_BIT(XP_LOWEST_BIT(filters));
		unsigned all = slot->whole ? slot->present : bit;

		if (!(slot->oneshot & bit)) {
			(void)disable_filters(queue, fd, slot, all);
		} else if (all == slot->present) {
			(void)xp_entry_end(queue, fd, slot, true);
		} else {
			(void)xp_solo_end(queue, fd, slot, all);
			xp_slot_remove_filters(queue, slot, all);
			if (!queue->lazy && slot->mode != XP_MODE_FILE)
				(void)change_pass_to_backend(queue, fd, slot, 0);
		}
	}
	return plain & slot->enabled;
}
