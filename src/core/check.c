/*
 * Checks candidates by poll(2), and files by fstat(2).  A candidate is a descriptor whose state the
 * next wait has to check.
 */
#include "core/check.h"

#include "core/count.h"
#include "core/entry.h"
#include "core/files.h"
#include "core/report.h"
#include "sys/sys_hot.h"

enum { READINESS = POLLIN | POLLOUT | POLLPRI | POLLRDHUP };

/* Candidates (slots to check) that one poll(2) checks, and the array for that call. */
struct chunk {
	struct pollfd fds[XP_FIRED_MOST];
	/*
	 * slot->check was set, mostly by an ENABLE, by which the program has just named fds[i].fd:
	 * so do not verify that this still refers to the registered file
	 */
	bool named[XP_FIRED_MOST];
	int len;
};

/* --- The results of poll(2) ---------------------------------------------------------- */

/*
 * Called if poll(2) has not found the candidate (slot to check) ready.  After XP_FRUITLESS_MOST
 * such checks in a row its edge-triggered entry becomes level-triggered: the program reads
 * everything at once, so checks find nothing, and a level-triggered entry needs no checks.  named:
 * the program has just enabled the filter; such a check does not count.
 */
static void candidate_not_ready(struct xpoll *queue, int fd, struct xp_slot *slot, bool named)
{
	unsigned mine = xp_entry_wanted(queue, slot) & slot->enabled;

	/*
	 * Arm a one-shot entry that has reported and is silent since, so that the kernel reports
	 * the next activity.
	 */
	if (xp_entry_is_silent(queue, slot) && mine)
		(void)xp_entry_arm(queue, fd, slot, XP_MODE_ONCE, xp_entry_wanted(queue, slot),
		                   mine);
	if (named || slot->mode != XP_MODE_EDGE || xp_slot_edge_filters(slot) & slot->enabled ||
	    ++slot->fruitless_checks < XP_FRUITLESS_MOST)
		return;
	slot->fruitless_checks = 0;
	if (mine)
		(void)xp_entry_arm(queue, fd, slot, XP_MODE_LEVEL, mine, mine);
}

/*
 * Returns true if the descriptor still refers to the registered file.  Called if a filter that was
 * delivered before is ready again: since then the program may have closed the descriptor.  If the
 * slot has an edge-triggered entry, verify by making the entry level-triggered, which fails for
 * another file.  That also saves work for a file that the program leaves ready: the kernel repeats
 * the report of a level-triggered entry, while an edge-triggered one needs a check by poll(2) after
 * each delivery.  In all other cases xp_entry_verify queries the kernel without a change.
 */
static bool is_same_file(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned checked)
{
	unsigned mine = xp_entry_wanted(queue, slot) & slot->enabled;

	/*
	 * Keep the test of `mine` between those of `mode` and `solo`: gcc would merge adjacent
	 * tests into one load that also reads the atomic `late_in_flight`, which is a data race.
	 */
	if (slot->mode != XP_MODE_EDGE || !mine || slot->solo ||
	    xp_slot_edge_filters(slot) & slot->enabled)
		return xp_entry_verify_or_drop(queue, fd, slot, checked);
	return xp_entry_arm(queue, fd, slot, XP_MODE_LEVEL, mine, mine) == 0;
}

/*
 * Handle the result of poll(2) for one slot: deliver ready filters, arm entries of filters that are
 * not ready, or drop the slot of a closed descriptor.  named: the program has just named the
 * descriptor in a change, so do not verify that it refers to the registered file.
 */
static void candidate_handle_bits(struct xpoll *queue, struct xp_wait *wait,
                                  const struct pollfd *found, bool named)
{
	struct xp_slot *slot = xp_slots_get(queue, found->fd);
	uint32_t events = (unsigned short)found->revents;
	unsigned checked = xp_filters_of((unsigned short)found->events) & slot->enabled;

	if (xp_pollbits_rdhup_unknown(POLLRDHUP, events) &&
	    xp_slot_kind(found->fd, slot) == XP_KIND_SOCKET && xp_sys_half_closed(found->fd))
		events |= POLLRDHUP;
	/*
	 * If a filter that is not ready has a solo entry (its own in the kernel), arm that entry,
	 * so that the kernel reports the next activity.
	 */
	if (XP_UNLIKELY(checked & slot->solo & ~(unsigned)slot->armed) &&
	    !(events & (POLLHUP | POLLERR | POLLNVAL)))
		(void)xp_solo_arm(queue, found->fd, slot,
		                  checked & ~(slot->armed | xp_filters_of(events)));
	if (XP_UNLIKELY(events & POLLNVAL)) {
		xp_entry_drop(queue, found->fd, slot);
	} else if (!events) {
		candidate_not_ready(queue, found->fd, slot, named);
	} else if (named || is_same_file(queue, found->fd, slot, checked)) {
		/*
		 * poll(2) returns POLLHUP and POLLERR without a request.  Edge-triggered filters
		 * that were not checked get these bits from the kernel's report only, so the next
		 * wait calls the kernel.
		 */
		if (XP_UNLIKELY(events & (POLLHUP | POLLERR)) && slot->enabled & ~checked)
			xp_ask_soon(queue);
		events = xp_lowat_mask_events(queue, found->fd, slot, events);
		if (events)
			xp_deliver(queue, wait, found->fd, slot, events, checked);
	}
}

/*
 * Handle one slot after a poll(2) with result rc.  named: the program has just named the descriptor
 * in a change, so do not verify that it refers to the registered file.
 */
static XP_NOINLINE void candidate_handle_poll(struct xpoll *queue, struct xp_wait *wait,
                                         const struct pollfd *found, bool named, int rc)
{
	/*
	 * poll(2) fails with more than RLIMIT_NOFILE entries, or for lack of memory: make the
	 * kernel report the descriptor instead.
	 */
	if (XP_UNLIKELY(rc < 0))
		xp_entry_hand_to_kernel(queue, found->fd, xp_slots_get(queue, found->fd),
		                        XP_ALL_FILTERS);
	else
		candidate_handle_bits(queue, wait, found, named);
}

/* --- Slots that are not checked together with others ------------------------------------- */

/*
 * Deliver the bits in slot->deferred (found by an earlier report or poll, and not delivered yet) to
 * the enabled filters in slot->deferred_for, if fd still refers to the registered file.
 */
static void deliver_deferred(struct xpoll *queue, struct xp_wait *wait, int fd,
                             struct xp_slot *slot)
{
	unsigned filters = slot->deferred_for & slot->enabled;
	uint32_t events = slot->deferred & (xp_watch_bits(slot, filters) | POLLHUP | POLLERR);

	if (!(slot->deferred_for &= ~filters & XP_ALL_FILTERS))
		slot->deferred = 0;
	if (filters && xp_entry_verify_or_drop(queue, fd, slot, filters) &&
	    (slot->kind != XP_KIND_CLEARED || xp_entry_arm_wanted(queue, fd, slot, filters) == 0))
		xp_deliver(queue, wait, fd, slot, events, filters);
}

/*
 * Check a file whose bits poll(2) clears: deliver the bits that poll(2) returns now, and those of
 * earlier polls that slot->deferred holds.  named: the program has just named fd in a change, so do
 * not verify that it refers to the registered file.
 */
static void probe_and_deliver(struct xpoll *queue, struct xp_wait *wait, int fd,
                              struct xp_slot *slot, unsigned filters, bool named)
{
	struct pollfd probe = {.fd = fd, .events = POLLIN | POLLOUT | POLLPRI};

	if (!named && !xp_entry_verify_or_drop(queue, fd, slot, filters))
		return;
	xp_count(&queue->counters.syscalls_check);
	int rc = xp_sys_poll_now(&probe, 1);
	uint32_t events = slot->deferred | (rc > 0 ? (unsigned short)probe.revents : 0u);
	slot->deferred = 0;
	if (events & POLLNVAL) {
		xp_entry_drop(queue, fd, slot);
		return;
	}
	if (rc < 0)
		xp_candidate_add_delivered(queue, fd, slot, filters);
	if (filters & ~(unsigned)slot->armed)
		xp_entry_hand_to_kernel(queue, fd, slot, filters);
	if (events && slot->present)
		xp_deliver(queue, wait, fd, slot, events, XP_ALL_FILTERS);
}

/* --- All candidates, the slots that this wait has to check -------------------------------- */

/*
 * Remove the first candidate (slot to check) from the list, and add it to the chunk if poll(2) can
 * check it together with others; otherwise check it now.
 */
static void candidate_take(struct xpoll *queue, struct xp_wait *wait, struct chunk *chunk)
{
	struct xp_slot *slot;
	int fd = xp_candidate_pop(queue, &slot);
	unsigned filters = (slot->check | slot->recheck) & slot->enabled;
	bool named = slot->check & slot->enabled;

	/*
	 * Clear these sets before poll(2), not after it: a delivery afterwards may set them again
	 * for the next wait.
	 */
	slot->check = slot->recheck = 0;
	if (XP_UNLIKELY(slot->deferred_for))
		deliver_deferred(queue, wait, fd, slot);
	filters &= slot->enabled;
	if (!filters || slot->mode == XP_MODE_FILE)
		/*
		 * the filters were disabled or have ended; or the slot is a file, which
		 * xp_files_check checks
		 */
		return;
	if (XP_UNLIKELY(!xp_slot_can_probe(fd, slot))) {
		if (xp_poll_clears(queue, slot))
			probe_and_deliver(queue, wait, fd, slot, filters, named);
		else
			xp_entry_hand_to_kernel(queue, fd, slot, filters);
		return;
	}
	/*
	 * Check all enabled level-triggered filters of the slot.  Check an edge-triggered one
	 * (CLEAR, LOWAT) only if check or recheck named it, because otherwise its edge would be
	 * delivered repeatedly.
	 */
	filters = slot->enabled & (filters | ~xp_slot_edge_filters(slot));
	XP_ASSERT(chunk->len < XP_FIRED_MOST);
	chunk->fds[chunk->len] = (struct pollfd){
		.fd = fd,
		.events = (short)xp_watch_bits(slot, filters),
	};
	chunk->named[chunk->len++] = named;
}

/*
 * Called when the array of the wait is full: returns the slots of the chunk from `done` on, which
 * were not handled, to the head of the list of candidates, in order.
 */
static void chunk_put_back(struct xpoll *queue, struct chunk *chunk, int done)
{
	while (chunk->len > done) {
		const struct pollfd *left = &chunk->fds[--chunk->len];
		struct xp_slot *slot = xp_slots_get(queue, left->fd);
		unsigned filters = xp_filters_of((unsigned short)left->events) & slot->enabled;

		*(chunk->named[chunk->len] ? &slot->check : &slot->recheck) |= XP_SET(filters);
		if (filters)
			xp_candidate_push(queue, left->fd, slot);
	}
}

/*
 * Check the slots of the chunk by one poll(2), and deliver those that are ready, until the array of
 * the wait is full.
 */
static void chunk_check(struct xpoll *queue, struct xp_wait *wait, struct chunk *chunk)
{
	int done = 0, rc;

	xp_count(&queue->counters.syscalls_check);
	rc = xp_sys_poll_now(chunk->fds, (size_t)chunk->len);
	for (; done < chunk->len && !xp_wait_is_full(wait); done++)
		candidate_handle_poll(queue, wait, &chunk->fds[done], chunk->named[done], rc);
	chunk_put_back(queue, chunk, done);
}

/*
 * Returns true if candidate_take would handle the next slot in the list alone and deliver it at
 * once.  Then the caller checks the chunk first, because its slots are older.
 */
static bool next_bypasses_chunk(const struct xpoll *queue)
{
	const struct xp_slot *slot = xp_slots_get(queue, queue->candidates.head);

	return slot->deferred_for || xp_poll_clears(queue, slot);
}

/*
 * Check each candidate (slot in the list) once, many by one poll(2), until the array is full.  The
 * first poll(2) gets no more of them than the array has room for: most are ready, so the results of
 * further ones would find no room.
 */
static XP_NOINLINE void chunks_check(struct xpoll *queue, struct xp_wait *wait)
{
	struct chunk chunk;
	int left = queue->candidates.len;

	for (int least = 1; left > 0 && !xp_wait_is_full(wait); least = XP_ASK_EVERY) {
		int room = wait->cap - wait->len;
		int want = room < least ? least : room;
		int most = want < XP_FIRED_MOST ? want : XP_FIRED_MOST;

		chunk.len = 0;
		for (; left > 0 && chunk.len < most && !xp_wait_is_full(wait); left--) {
			if (chunk.len > 0 && next_bypasses_chunk(queue))
				break;
			candidate_take(queue, wait, &chunk);
		}
		if (chunk.len > 0)
			chunk_check(queue, wait, &chunk);
	}
}

/*
 * Handles the common case without a chunk: a program that handles one event after the other mostly
 * has one candidate (slot to check), whose filter the program has enabled and which is ready.
 */
void xp_candidates_check(struct xpoll *queue, struct xp_wait *wait)
{
	struct pollfd probe;
	bool only_one = queue->candidates.len == 1 && !xp_wait_is_full(wait);
	struct xp_slot *slot = only_one ? xp_slots_get(queue, queue->candidates.head) : NULL;
	unsigned named = slot ? slot->check & slot->enabled : 0, filters;
	uint32_t events;
	int fd, rc;

	if (XP_UNLIKELY(!named || slot->deferred_for || slot->solo || slot->lowat ||
	                !xp_kind_can_probe(slot->kind))) {
		chunks_check(queue, wait);
		return;
	}
	fd = xp_candidate_pop(queue, &slot);
	filters = slot->enabled & (named | slot->recheck | ~xp_slot_edge_filters(slot));
	slot->check = slot->recheck = 0;
	probe = (struct pollfd){.fd = fd, .events = (short)xp_watch_bits(slot, filters)};
	xp_count(&queue->counters.syscalls_check);
	rc = xp_sys_probe(&probe);
	events = (unsigned short)probe.revents;
	if (XP_LIKELY(rc > 0 && !(events & ~READINESS) &&
	              !xp_pollbits_rdhup_unknown(POLLRDHUP, events)))
		xp_deliver(queue, wait, fd, slot, events, filters);
	else
		candidate_handle_poll(queue, wait, &probe, true,
		                 rc == -EINTR ? xp_sys_poll_now(&probe, 1) : rc);
}

void xp_candidates_to_kernel(struct xpoll *queue)
{
	for (int left = queue->candidates.len; left > 0; left--) {
		struct xp_slot *slot;
		int fd = xp_candidate_pop(queue, &slot);
		unsigned filters = (slot->check | slot->recheck) & slot->enabled;

		/*
		 * In four cases do not change the entry: leave the slot in the list, and have a
		 * sleeping thread woken, which checks the slot.  First: the bits are in
		 * slot->deferred, and not in the file any more.  Second: the change would poll the
		 * file, which clears the file's bits (xp_poll_clears).  Third: the change polls the
		 * file, and the result may be for this thread only (a signalfd).  Fourth: the
		 * change would repeat a delivered edge.
		 */
		if (slot->deferred_for || (filters && xp_poll_clears(queue, slot)) ||
		    (filters && slot->check && !xp_slot_can_probe(fd, slot)) ||
		    (xp_change_repeats_edge(queue, slot, filters) && xp_slot_can_probe(fd, slot))) {
			xp_kick_request(queue);
			xp_candidate_append(queue, fd, slot);
			continue;
		}
		slot->check = slot->recheck = 0;
		if (filters)
			xp_entry_hand_to_kernel(queue, fd, slot, filters);
	}
}

void xp_files_check(struct xpoll *queue, struct xp_wait *wait)
{
	bool poll_level = wait->format != XP_EVENTS;
	int fd, events;

	xp_files_begin(queue, poll_level);
	while (!xp_wait_is_full(wait) && xp_files_next(queue, poll_level, &fd, &events)) {
		struct xp_slot *slot = xp_slots_get(queue, fd);

		if (events < 0)
			xp_entry_drop(queue, fd, slot);
		else if (events > 0)
			xp_deliver(queue, wait, fd, slot, (uint32_t)events, XP_ALL_FILTERS);
	}
}
