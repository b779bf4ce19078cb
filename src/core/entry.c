/* The kernel's entries of a slot, the main entry and solo entries (for one filter): see entry.h. */
#include "core/entry.h"

#include "base/result.h"
#include "core/ask.h"
#include "core/candidates.h"
#include "core/files.h"

struct xp_slot *xp_entry_find(const struct xpoll *queue, int fd)
{
	struct xp_slot *slot = fd < 0 ? NULL : xp_slots_find(queue, fd);

	return slot && slot->present ? slot : NULL;
}

bool xp_queue_owns_fd(const struct xpoll *queue, int fd)
{
	for (int i = 0; i < XP_GROUPS; i++)
		if (xp_wakefd_has(&queue->turn_wakefds[i], fd))
			return true;
	return queue->ops->owns && queue->ops->owns(queue->backend, fd);
}

enum xp_mode xp_entry_wanted_mode(const struct xpoll *queue, const struct xp_slot *slot)
{
	unsigned filters = xp_entry_wanted(queue, slot);
	unsigned edges = xp_slot_edge_filters(slot) | (queue->lazy ? ~(unsigned)slot->enabled : 0);

	return filters & edges ? XP_MODE_EDGE : XP_MODE_LEVEL;
}

bool xp_entry_may_report_once(const struct xpoll *queue, const struct xp_slot *slot)
{
	unsigned filters = xp_entry_wanted(queue, slot);
	unsigned ending = (slot->dispatch | slot->oneshot) & filters;

	return queue->ops->change_unlocked && ending && ending == filters &&
		(slot->whole ? !slot->solo : !(filters & (filters - 1))) &&
		!slot->exclusive && !slot->lowat;
}

/* Returns the number of filters in the set. */
static uint64_t filter_count(unsigned filters)
{
	return (filters & 1) + (filters >> 1 & 1) + (filters >> 2 & 1);
}

void xp_slot_remove_filters(struct xpoll *queue, struct xp_slot *slot, unsigned filters)
{
	uint8_t left = XP_SET(~filters);

	XP_ASSERT(!(filters & ~(unsigned)slot->present));
	xp_outer_set_grace(queue, 0);
	queue->stats.registered -= filter_count(filters);
	xp_slot_disable(slot, filters);
	slot->deferred_for &= left & XP_ALL_FILTERS;
	slot->present &= left;
	slot->clear &= left;
	slot->oneshot &= left;
	slot->dispatch &= left;
	slot->lowat &= left & XP_ALL_FILTERS;
	slot->exclusive &= left & XP_ALL_FILTERS;
	slot->count_filters &= left & XP_ALL_FILTERS;
	slot->so_error &= left & XP_ALL_FILTERS;
	if (filters & XP_BIT(XP_READ))
		slot->requested &= XP_REQUEST_OOB;
	if (filters & XP_BIT(XP_EXCEPT))
		slot->requested &= XP_REQUEST_IN | XP_REQUEST_RDHUP;
	for (int i = 0; i < XP_FD_FILTERS; i++)
		if (filters & XP_BIT(i))
			slot->udata[i].bits = 0;
}

/*
 * Empty the slot and make all reports of its registrations stale.  The kernel's entries stay as
 * they are.
 */
static void slot_clear(struct xpoll *queue, struct xp_slot *slot)
{
	xp_outer_set_grace(queue, 0);
	queue->stats.registered -= filter_count(slot->present);
	xp_late_await(slot);
	*slot = (struct xp_slot){
		.arming = slot->arming,
		.epoch = slot->epoch,
		.next = slot->next,
	};
	xp_slot_invalidate_tokens(slot);
}

void xp_entry_drop(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	enum xp_mode mode = (enum xp_mode)slot->mode;

	slot_clear(queue, slot);
	if (mode == XP_MODE_FILE)
		xp_file_remove(queue, fd);
	else if (!queue->lazy && mode != XP_MODE_NONE)
		(void)queue->ops->detach(queue->backend, fd);
}

bool xp_solo_end(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters)
{
	bool confirmed = false;

	filters &= slot->solo;
	for (unsigned i = 0; filters && i < XP_FD_FILTERS; i++)
		if (filters & slot->armed & XP_BIT(i))
			confirmed |= queue->ops->change(queue->backend, fd, XP_WATCH_SOLO(i),
			                                xp_slot_token(slot, fd)) == 0;
	slot->armed &= XP_SET(~filters);
	slot->solo &= ~filters & XP_ALL_FILTERS;
	return confirmed;
}

int xp_entry_end(struct xpoll *queue, int fd, struct xp_slot *slot, bool silent)
{
	int rc;

	if (slot->mode == XP_MODE_NONE || slot->mode == XP_MODE_FILE) {
		rc = slot->mode == XP_MODE_FILE ? xp_file_confirm(queue, fd) : 0;
		xp_entry_drop(queue, fd, slot);
		return rc;
	}
	if (slot->solo)
		(void)xp_solo_end(queue, fd, slot, XP_ALL_FILTERS);
	if (silent && slot->mode == XP_MODE_ONCE && !slot->armed) {
		slot_clear(queue, slot);
		slot->has_leftover_entry = true;
		return 0;
	}
	xp_late_await(slot);
	rc = queue->ops->detach(queue->backend, fd);
	slot_clear(queue, slot);
	return rc;
}

/*
 * Returns true if the main entry is to be exclusive.  XPOLL_NOTE_EXCLUSIVE is a hint: the kernel
 * allows only POLLIN and POLLOUT in an exclusive entry.  While a filter is disabled the entry is
 * not exclusive, because otherwise it could take a wake-up that another queue needs.
 */
static bool entry_wants_exclusive(const struct xpoll *queue, const struct xp_slot *slot,
                                  enum xp_mode mode)
{
	return slot->exclusive && queue->lazy && mode == XP_MODE_LEVEL && !slot->solo &&
		slot->enabled == slot->present && !(slot->present & XP_BIT(XP_EXCEPT)) &&
		(slot->requested & XP_REQUEST_IN || !(slot->present & XP_BIT(XP_READ)));
}

/* Returns the bits and flags (XP_WATCH_) of a main entry in this mode with these filters. */
static uint32_t entry_watch_bits(const struct xpoll *queue, const struct xp_slot *slot,
                                 enum xp_mode mode, unsigned filters)
{
	/*
	 * The kernel reports errors and hang-ups of an entry even with an empty mask: make such an
	 * entry one-shot, so that the kernel reports at most one of them.
	 */
	uint32_t how = mode == XP_MODE_ONCE || (queue->lazy && !filters) ? XP_WATCH_ONESHOT
		: mode == XP_MODE_EDGE ? XP_WATCH_EDGE
		: entry_wants_exclusive(queue, slot, mode) ? XP_WATCH_EXCLUSIVE : 0;

	return xp_watch_bits(slot, filters) | how;
}

/*
 * Add `armings` to slot->arming, the number in the main entry's token, by which reports from before
 * a change are recognised and dropped: 1 before a change of the entry, -1 to undo that if the
 * change has failed.  Only on epoll (a lazy queue): elsewhere reports from before the change stay
 * valid for other filters, so the number must not change.
 */
static void entry_step_arming(const struct xpoll *queue, struct xp_slot *slot, int armings)
{
	slot->arming += queue->lazy ? (uint32_t)armings : 0;
}

/* Record in the slot that the kernel has this main entry now. */
static void entry_record_armed(struct xpoll *queue, struct xp_slot *slot, enum xp_mode mode,
                               unsigned filters)
{
	XP_ASSERT(!(filters & ~(unsigned)slot->present));
	slot->mode = (uint8_t)mode;
	slot->armed = XP_SET(filters | (slot->armed & slot->solo));
	slot->is_exclusive = entry_wants_exclusive(queue, slot, mode);
	slot->edge_delivered = 0;
	slot->fruitless_checks = 0;
	slot->fruitless_reports = 0;
	/*
	 * Make reports from before this change recognisable.  On epoll (a lazy queue) the number in
	 * the main entry's token (slot->arming) has changed, which shows that, so a cutoff is not
	 * needed: clear it.  Keep it if the slot has solo entries (entries for one filter), whose
	 * tokens have an earlier number.  On other back ends the number stays the same: set the
	 * cutoff, the time of this change, with which the time of a report is compared.
	 */
	if (!queue->lazy)
		xp_slot_outdate_reports(queue, slot);
	else if (!slot->solo)
		slot->has_cutoff = false;
	/*
	 * A back end with `flush` passes changes to the kernel in the next wait, or in `flush`,
	 * which xp_leave_to_others calls if threads sleep.
	 */
	if (queue->lazy || queue->ops->flush)
		xp_ask_soon(queue);
}

int xp_entry_attach(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	unsigned filters = xp_entry_wanted(queue, slot);
	bool silences = slot->oneshot && slot->enabled && xp_entry_may_report_once(queue, slot);
	enum xp_mode mode = silences ? XP_MODE_ONCE : xp_entry_wanted_mode(queue, slot);
	uint32_t watch = entry_watch_bits(queue, slot, mode, filters);
	bool leftover = slot->has_leftover_entry;
	uint64_t token;
	int rc = -ENOENT;

	if (xp_queue_owns_fd(queue, fd))
		return -EINVAL;
	entry_step_arming(queue, slot, 1);
	token = xp_slot_token(slot, fd);
	slot->has_leftover_entry = false;
	if (leftover)
		rc = queue->ops->change(queue->backend, fd, watch, token);
	/*
	 * If the kernel has no entry to change, make one.  Call attach also after EBADF, because
	 * attach, unlike change, distinguishes a descriptor of O_PATH from a closed one.
	 */
	if (xp_is_gone_error(rc))
		rc = queue->ops->attach(queue->backend, fd, watch, token);
	/*
	 * EEXIST: the kernel still has the entry of a file that was closed, and fd is a duplicate
	 * of that file now: change the entry.
	 */
	if (XP_UNLIKELY(rc == -EEXIST))
		rc = queue->ops->change(queue->backend, fd, watch, token);
	if (rc == 0)
		entry_record_armed(queue, slot, mode, filters);
	return rc;
}

/*
 * Called if a change of an exclusive entry, which is EPOLL_CTL_DEL and EPOLL_CTL_ADD, has failed in
 * EPOLL_CTL_ADD: the kernel has no entry, and the next wait attaches the slot.
 */
static void entry_record_lost(struct xpoll *queue, struct xp_slot *slot)
{
	slot->mode = XP_MODE_NONE;
	slot->armed = 0;
	xp_set_unattached(queue, true);
}

int xp_entry_arm(struct xpoll *queue, int fd, struct xp_slot *slot, enum xp_mode mode,
                 unsigned filters, unsigned again)
{
	uint32_t watch = entry_watch_bits(queue, slot, mode, filters);
	int rc;

	if (slot->mode == XP_MODE_NONE)
		return xp_entry_attach(queue, fd, slot);
	XP_ASSERT(slot->mode == XP_MODE_LEVEL || slot->mode == XP_MODE_EDGE ||
	          slot->mode == XP_MODE_ONCE);
	xp_late_await(slot);
	xp_defer_before_change(queue, fd, slot);
	entry_step_arming(queue, slot, 1);
	rc = queue->ops->change(queue->backend, fd, watch | XP_WATCH_AGAIN(again),
	                        xp_slot_token(slot, fd));
	if (rc == -EPERM) /* fd refers to another file, which the kernel cannot poll */
		rc = -ENOENT;
	if (XP_UNLIKELY(rc < 0))
		entry_step_arming(queue, slot, -1);
	if (xp_is_gone_error(rc))
		xp_entry_drop(queue, fd, slot);
	else if (rc == 0)
		entry_record_armed(queue, slot, mode, filters);
	else if (slot->is_exclusive || watch & XP_WATCH_EXCLUSIVE)
		entry_record_lost(queue, slot);
	if (rc == 0 && slot->deferred && slot->enabled && slot->kind == XP_KIND_CLEARED)
		xp_candidate_add_enabled(queue, fd, slot, slot->enabled);
	return rc;
}

int xp_entry_arm_wanted(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned again)
{
	return xp_entry_arm(queue, fd, slot, xp_entry_wanted_mode(queue, slot),
	                    xp_entry_wanted(queue, slot), again);
}

int xp_entry_arm_late(struct xpoll *queue, int fd, struct xp_slot *slot, enum xp_mode mode,
                      struct xp_late *late)
{
	unsigned filters = xp_entry_wanted(queue, slot);

	if (!late || xp_poll_clears(queue, slot) || atomic_load(&slot->late_in_flight) == UINT8_MAX)
		return xp_entry_arm(queue, fd, slot, mode, filters, filters);
	/*
	 * This change, made without the lock, cannot overtake an earlier one of the same entry,
	 * because none is left to make.  A silent one-shot entry has reported since the change that
	 * armed it, so the kernel has made that change, or that change has failed.  An
	 * edge-triggered entry was made by xp_entry_arm or xp_entry_attach, and late changes had
	 * ended before.
	 */
	XP_ASSERT(filters && (slot->mode == XP_MODE_EDGE || xp_entry_is_silent(queue, slot)));
	entry_step_arming(queue, slot, 1);
	entry_record_armed(queue, slot, mode, filters);
	xp_count(&queue->counters.syscalls_change);
	atomic_fetch_add_explicit(&slot->late_in_flight, 1, memory_order_relaxed);
	*late = (struct xp_late){
		.slot = slot,
		.token = xp_slot_token(slot, fd),
		.watch = entry_watch_bits(queue, slot, mode, filters),
		.fd = fd,
	};
	return 0;
}

int xp_entry_verify(struct xpoll *queue, int fd, const struct xp_slot *slot, unsigned again)
{
	int rc;

	if (slot->mode == XP_MODE_FILE)
		return xp_file_confirm(queue, fd);
	if (!(queue->ops->caps & XP_CAP_KNOWS_FILE) || slot->mode == XP_MODE_NONE) {
		xp_count(&queue->counters.syscalls_check);
		rc = xp_sys_open_flags(fd);
		return rc < 0 ? rc : 0;
	}
	/*
	 * Attaching the registered file again fails with EEXIST and leaves its entry alone.  If the
	 * call succeeds, fd refers to another file: detach that file.
	 */
	rc = queue->ops->attach(queue->backend, fd, XP_WATCH_AGAIN(again), xp_slot_token(slot, fd));
	if (rc == 0)
		(void)queue->ops->detach(queue->backend, fd);
	return rc == -EEXIST ? 0 : rc == -EBADF ? rc : -ENOENT;
}

bool xp_entry_verify_or_drop(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned again)
{
	if (xp_entry_verify(queue, fd, slot, again) == 0)
		return true;
	xp_entry_drop(queue, fd, slot);
	return false;
}

/* --- Solo entries, for one filter of a descriptor ---------------------------------------- */

unsigned xp_solo_wanted(const struct xpoll *queue, const struct xp_slot *slot, unsigned filters,
                        unsigned before)
{
	unsigned most = queue->lazy && slot->kind != XP_KIND_CLEARED ? XP_FD_FILTERS : 0, solo = 0;

	for (unsigned i = 0; i < most; i++) {
		unsigned bit = XP_BIT(i);
		unsigned others = (before | slot->present) & ~(bit | solo | slot->solo);

		if (!(filters & bit) || slot->solo & bit || !others)
			continue;
		/*
		 * If two filters share an entry, a change of the entry, or activity of one filter,
		 * makes the kernel report both.  So a CLEAR filter and a level-triggered one do not
		 * share an entry.  Nor do two CLEAR filters if that report could repeat an edge: if
		 * an edge was delivered, a sleeping thread may be about to deliver one, or the new
		 * filter is disabled, whose activity would only report the other filter again.
		 */
		if (!(slot->clear & bit) != !(slot->clear & others) ||
		    (slot->clear & others && (slot->edge_delivered || xp_has_sleepers(queue) ||
		                              !(slot->enabled & bit))))
			solo |= bit;
	}
	return solo;
}

/* Arm or make the solo entry of one filter, its own kernel entry.  Returns 0 or -errno. */
static int solo_arm_one(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filter)
{
	/*
	 * Use an edge-triggered entry even for a filter without CLEAR, or the kernel would keep
	 * reporting a hang-up that the program has not requested.
	 */
	uint32_t watch = XP_WATCH_SOLO(filter) | XP_WATCH_EDGE |
	                 xp_watch_bits(slot, XP_BIT(filter));
	uint64_t token = xp_slot_token(slot, fd);
	int rc = -ENOENT;

	if (slot->armed & XP_BIT(filter))
		rc = queue->ops->change(queue->backend, fd, watch, token);
	if (rc == -ENOENT)
		rc = queue->ops->attach(queue->backend, fd, watch, token);
	if (rc == -EPERM) /* fd refers to another file, which the kernel cannot poll */
		rc = -ENOENT;
	if (rc < 0 && !xp_is_gone_error(rc)) {
		/*
		 * The kernel lacks memory or room for the entry, or epoll sets are nested too
		 * deeply: put the filter into the main entry, whose change may repeat an edge.
		 */
		slot->solo &= ~XP_BIT(filter) & XP_ALL_FILTERS;
		return xp_entry_arm_wanted(queue, fd, slot, XP_BIT(filter));
	}
	if (rc < 0)
		return rc;
	slot->armed |= XP_SET(XP_BIT(filter));
	xp_slot_outdate_reports(queue, slot);
	xp_ask_soon(queue);
	return 0;
}

int xp_solo_arm(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < XP_FD_FILTERS; i++)
		if (filters & slot->solo & XP_BIT(i))
			rc = solo_arm_one(queue, fd, slot, i);
	return rc;
}

/* --- Changes because of reports ----------------------------------------------------- */

void xp_entry_hand_to_kernel(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters)
{
	unsigned mine = xp_entry_wanted(queue, slot);
	unsigned enabled = mine & slot->enabled;

	if (slot->mode == XP_MODE_FILE || slot->mode == XP_MODE_NONE)
		return;
	xp_ask_soon(queue);
	(void)xp_solo_arm(queue, fd, slot, filters & slot->enabled);
	if (!(filters & enabled) || slot->mode == XP_MODE_LEVEL)
		return;
	if (slot->mode == XP_MODE_ONCE)
		(void)xp_entry_arm(queue, fd, slot, XP_MODE_ONCE, mine, filters);
	else if (xp_slot_edge_filters(slot) & enabled)
		(void)xp_entry_arm(queue, fd, slot, XP_MODE_EDGE, mine, filters);
	else
		(void)xp_entry_arm(queue, fd, slot, XP_MODE_LEVEL, enabled, filters);
}

/*
 * A solo entry (for one filter) has reported, but its filter is disabled or not ready.  After
 * XP_FRUITLESS_MOST such reports in a row, give the entry the mask that the program requests now,
 * or, if the filter is disabled, delete the entry.
 */
static void solo_handle_fruitless(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned bit)
{
	if (++slot->fruitless_reports < XP_FRUITLESS_MOST)
		return;
	slot->fruitless_reports = 0;
	/*
	 * A DELETE of POLLIN may have left that bit in the entry: arm it with the bits requested
	 * now.
	 */
	if (bit & slot->enabled) {
		(void)xp_solo_arm(queue, fd, slot, bit);
		return;
	}
	(void)queue->ops->change(queue->backend, fd, bit * XP_WATCH_SOLO(0),
	                         xp_slot_token(slot, fd));
	slot->armed &= XP_SET(~bit);
}

void xp_entry_fruitless(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned part, bool one)
{
	unsigned solo = part & slot->solo;
	unsigned mine = xp_entry_wanted(queue, slot);

	queue->stats.fruitless++;
	if (solo && !(solo & (solo - 1)) && part == solo) {
		solo_handle_fruitless(queue, fd, slot, solo);
	} else if (slot->mode == XP_MODE_ONCE) {
		/*
		 * The one-shot entry is silent now (reports nothing until it is armed).  If a
		 * filter is enabled, arm the entry again, edge-triggered, so that the kernel does
		 * not repeat a hang-up that xpoll_event ignores.
		 */
		if (mine & slot->enabled)
			(void)xp_entry_arm(queue, fd, slot, XP_MODE_EDGE, mine, mine);
	} else if (slot->mode == XP_MODE_LEVEL) {
		bool once = queue->threads.shared > 0 && !(mine & slot->enabled) &&
			xp_entry_may_report_once(queue, slot) && xp_slot_can_probe(fd, slot);

		/*
		 * With DISPATCH (`once`) another thread is handling the descriptor: make the entry
		 * silent until that thread enables the filter.  If several threads wait, each for
		 * one event, let the entry report a few times before, which is cheaper than a
		 * change of the entry per event.
		 */
		if (once && one && queue->threads.together > 0 && !xp_has_sleepers(queue) &&
		    ++slot->fruitless_reports < XP_FRUITLESS_MOST)
			return;
		(void)xp_entry_arm(queue, fd, slot, once ? XP_MODE_ONCE : XP_MODE_EDGE,
		                   once ? 0 : mine, once ? 0 : mine);
	} else if (slot->mode == XP_MODE_EDGE && ++slot->fruitless_reports >= XP_FRUITLESS_MOST) {
		/*
		 * XP_FRUITLESS_MOST edges in a row led to no event.  An edge reports all bits that
		 * are set, so no enabled filter is ready: take the disabled filters, of which the
		 * edges may be, out of the entry.
		 */
		(void)xp_entry_arm(queue, fd, slot, XP_MODE_EDGE, mine & slot->enabled, 0);
	}
}
