/*
 * The poll back end: one dense array of the descriptors that have requested bits.
 *
 * A descriptor whose filters are disabled is not in the array, so it costs nothing and cannot
 * report POLLHUP.  Each scan for reports begins where the last one ended, so that busy descriptors
 * at the front do not starve the others when the caller takes few events.  If more descriptors were
 * ready than fit, the next waits poll only the unreported ones again, as many as fit, because
 * polling all for each few events would be expensive.  The first of these waits that has room left
 * polls all.
 *
 * The entries of the back end itself, the wake-up descriptor and the set of edges, follow the
 * others in each poll of all: the kernel visits entries in order, and after the first ready one it
 * no longer adds the caller to the wait queues of the entries that follow.
 */
#include "posix/poll_state.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/table.h"
#include "base/time.h"
#include "posix/system.h"
#include "sys/sys.h"

int xp_poll_prepare(void *opaque, int fd)
{
	struct xp_poll_state *state = opaque;

	(void)fd;
	return XP_TABLE_RESERVE(&state->fds, &state->cap,
	                        state->array.attached + 1 + XP_OWN_ENTRIES);
}

enum { REPORTED_ALWAYS = POLLERR | POLLHUP | POLLNVAL };

/*
 * Have the next wait report bits in entry->saved_bits that are requested now.  An earlier poll(2)
 * has cleared them in the kernel, and they were not reported: store them as revents.
 */
static void poll_restore_saved(struct xp_poll_state *state, struct xp_array_entry *entry,
                               uint32_t bits)
{
	short *revents = &state->fds[entry->index].revents;
	uint8_t kept = entry->saved_bits & (uint8_t)(bits | REPORTED_ALWAYS);

	state->left += kept && !*revents;
	*revents |= kept;
	entry->saved_bits &= (uint8_t)~kept;
}

/*
 * Returns bits to poll a file for although they are not requested; 0 unless poll(2) clears its bits
 * (entry->is_cleared_by_poll).  Whatever bits a poll requests, the kernel clears all, so the others
 * are polled, too, and kept.  POLLIN may be set for ever, as in a mount table, so it is polled only
 * until it is kept.
 */
static uint32_t poll_extra_bits(const struct xp_array_entry *entry)
{
	return !entry->is_cleared_by_poll ? 0
	       : entry->saved_bits & POLLIN ? POLLPRI : POLLPRI | POLLIN;
}

/*
 * If poll(2) clears the file's bits, keep those that are not requested.  Returns the bits to
 * report.
 */
static uint32_t poll_save_unrequested(struct xp_poll_state *state, struct xp_array_entry *entry,
                                      uint32_t events)
{
	if (!entry->is_cleared_by_poll)
		return events;
	entry->saved_bits |= (uint8_t)(events & (POLLPRI | POLLIN) & ~(uint32_t)entry->requested);
	state->fds[entry->index].events = (short)(entry->requested | poll_extra_bits(entry));
	return events & (entry->requested | REPORTED_ALWAYS);
}

void xp_poll_want(void *opaque, int fd, uint32_t bits)
{
	struct xp_poll_state *state = opaque;
	struct xp_array_entry *entry = &state->array.entries[fd];
	bool there = entry->watched_in == XP_PLACE_ARRAY;

	if (!bits && there) {
		struct pollfd *last = &state->fds[--state->len];

		XP_ASSERT(state->len >= 0 && entry->index <= state->len);
		/*
		 * An earlier poll(2) has returned and cleared these bits, and they were not
		 * reported yet: keep them.
		 */
		if (entry->is_cleared_by_poll)
			entry->saved_bits |= (uint8_t)state->fds[entry->index].revents;
		state->fds[entry->index] = *last;
		state->array.entries[last->fd].index = entry->index;
		return;
	}
	if (bits && !there) {
		XP_ASSERT(state->len + XP_OWN_ENTRIES < state->cap);
		entry->index = state->len++;
		state->fds[entry->index] = (struct pollfd){.fd = fd};
	}
	if (bits)
		state->fds[entry->index].events = (short)(bits | poll_extra_bits(entry));
	if (bits && entry->saved_bits)
		poll_restore_saved(state, entry, bits);
}

int xp_poll_init(struct xp_poll_state *state, const struct xp_array_ops *ops,
                 struct xp_counters *counters)
{
	int rc = xp_sys_check_poll();

	if (rc == 0)
		rc = XP_TABLE_RESERVE(&state->fds, &state->cap, XP_OWN_ENTRIES);
	if (rc == 0)
		rc = xp_array_open(&state->array, ops, counters);
	if (rc < 0)
		xp_free(state->fds);
	return rc;
}

void xp_poll_close(void *opaque)
{
	struct xp_poll_state *state = opaque;

	xp_array_close(&state->array);
	xp_free(state->fds);
}

struct pollfd *xp_poll_append_own(struct xp_poll_state *state)
{
	struct pollfd *own = state->fds + state->len;

	XP_ASSERT(state->len + XP_OWN_ENTRIES <= state->cap);
	xp_array_fill_own(&state->array, own);
	return own;
}

/*
 * Move up to cap entries with unreported revents to `fds`, beginning at `start`: the copies have
 * the revents, the originals 0.  Returns their number.
 */
static int poll_take_unreported(struct xp_poll_state *state, struct pollfd *fds, int cap)
{
	int len = 0;
	int steps = state->len;
	int i = state->start < state->len ? state->start : 0;

	for (; steps > 0 && state->left > 0 && len < cap; steps--) {
		struct pollfd *entry = &state->fds[i];

		if (entry->revents) {
			fds[len++] = *entry;
			entry->revents = 0;
			state->left--;
		}
		if (++i == state->len)
			i = 0;
	}
	state->start = i;
	/* All entries were visited, so no unreported revents are left. */
	if (steps == 0)
		state->left = 0;
	return len;
}

/*
 * Returns true if edge-triggered descriptors, which are in a set of their own (edge.h), are
 * reported before the array in this call.  The order alternates, because either could take all the
 * room.
 */
static bool poll_toggle_edges_first(struct xp_poll_state *state)
{
	state->edges_first = !state->edges_first;
	return state->edges_first;
}

int xp_poll_recheck_ready(struct xp_poll_state *state, struct xp_fired *fired, int cap)
{
	struct pollfd fds[XP_OWN_ENTRIES + XP_FIRED_MOST];
	unsigned short before[XP_FIRED_MOST];
	struct pollfd *some = fds + XP_OWN_ENTRIES;
	int len = poll_take_unreported(state, some, cap), count;
	bool edges_first = poll_toggle_edges_first(state);

	for (int i = 0; i < len; i++) {
		before[i] = (unsigned short)some[i].revents;
		some[i].revents = 0;
	}
	xp_array_fill_own(&state->array, fds);
	/*
	 * If poll(2) fails, report the results of this wait's earlier poll(2).  Results of earlier
	 * waits are dropped, because the next poll(2) of all entries finds them again.
	 */
	if (xp_sys_poll_now(fds, (size_t)(XP_OWN_ENTRIES + len)) < 0 && state->has_polled_all)
		for (int i = 0; i < len; i++)
			some[i].revents = (short)before[i];
	count = xp_array_report_wake(&state->array, fds, fired);
	if (edges_first)
		count += xp_array_report_edges(&state->array, fds, fired + count,
		                               cap - count);
	for (int i = 0; i < len; i++) {
		struct xp_array_entry *entry = &state->array.entries[some[i].fd];
		uint32_t events = (unsigned short)some[i].revents;

		/*
		 * If poll(2) clears the file's bits, only `before` has those of the earlier
		 * poll(2).
		 */
		if (entry->is_cleared_by_poll)
			events = poll_save_unrequested(state, entry, events | before[i]);
		if (!events)
			continue;
		/*
		 * reports of edge-triggered descriptors have taken the room: keep this report for a
		 * later wait
		 */
		if (count == cap) {
			state->fds[entry->index].revents = (short)events;
			state->left++;
			continue;
		}
		fired[count++] = xp_array_fired(&state->array, some[i].fd, events);
	}
	if (!edges_first)
		count += xp_array_report_edges(&state->array, fds, fired + count,
		                               cap - count);
	return count;
}

/* --- The poll back end ------------------------------------------------------------- */

static const struct xp_array_ops poll_array = {
	.prepare = xp_poll_prepare,
	.needs_set = xp_array_needs_set,
	.want = xp_poll_want,
};

static int poll_open(void *opaque, int size_hint, struct xp_counters *counters)
{
	(void)size_hint;
	return xp_poll_init(opaque, &poll_array, counters);
}

/*
 * Store reports of entries that the last poll(2) of all entries found ready.  Returns their number.
 */
static int poll_report_entries(struct xp_poll_state *state, struct xp_fired *fired, int cap)
{
	struct pollfd fds[XP_FIRED_MOST];
	int len = poll_take_unreported(state, fds, cap);
	int count = 0;

	for (int i = 0; i < len; i++) {
		uint32_t events = poll_save_unrequested(state, &state->array.entries[fds[i].fd],
		                                        (unsigned short)fds[i].revents);

		if (events)
			fired[count++] = xp_array_fired(&state->array, fds[i].fd, events);
	}
	return count;
}

/*
 * Append reports of the array (poll_report_entries), and then unread reports of the set of
 * edge-triggered descriptors, to the first `count` reports in `fired`.  Returns the new number of
 * reports.
 */
static int poll_report(struct xp_poll_state *state, struct xp_fired *fired,
                       int count, int cap)
{
	count += poll_report_entries(state, fired + count, cap - count);
	return count + xp_array_report_rest(&state->array, fired + count, cap - count);
}

bool xp_poll_takes_rest(struct xp_poll_state *state, int64_t deadline_ns)
{
	state->has_polled_all &= deadline_ns == XP_NOW_CONTINUED;
	if (state->has_polled_all)
		xp_count_by(&state->array.counters->syscalls_wait, (uint64_t)-1);
	return state->has_polled_all;
}

int xp_poll_ask(struct xp_poll_state *state, int64_t deadline_ns, const sigset_t *mask)
{
	size_t len = (size_t)state->len + XP_OWN_ENTRIES;

	return deadline_ns <= XP_NOW ? xp_sys_poll_now(state->fds, len)
		: xp_sys_poll_wait(state->fds, len, deadline_ns, mask);
}

/*
 * The back end's `wait`: first report the results that earlier calls left.  Then poll all entries,
 * unless there is no room left, or this call continues the last poll (XP_NOW_CONTINUED).
 */
static int poll_await(void *opaque, int64_t deadline_ns, const sigset_t *mask,
                      struct xp_fired *fired, int cap)
{
	struct xp_poll_state *state = opaque;
	struct pollfd *own = xp_poll_append_own(state);
	int count = 0;
	int ready;

	if (xp_poll_takes_rest(state, deadline_ns))
		return poll_report(state, fired, 0, cap);
	while (state->left > 0) {
		count += xp_poll_recheck_ready(state, fired + count, cap - count);
		if (count == cap)
			return count;
		/*
		 * The queue has counted one system call for this wait, but poll(2) of all entries
		 * is another one.
		 */
		xp_count_shared(&state->array.counters->syscalls_check);
	}
	state->has_polled_all = true;
	ready = xp_poll_ask(state, count > 0 ? XP_NOW : deadline_ns, mask);
	if (ready <= 0)
		return count ? count : ready;
	state->left = ready - (own[XP_OWN_WAKE].revents != 0) -
		(own[XP_OWN_EDGE].revents != 0);
	count += xp_array_report_wake(&state->array, own, fired + count);
	count += xp_array_report_edges(&state->array, own, fired + count, cap - count);
	return poll_report(state, fired, count, cap);
}

const struct xp_backend_ops xp_backend_poll = {
	.name = "poll",
	.caps = XP_CAP_FREE_CHANGE | XP_CAP_KNOWS_FILE | XP_CAP_CHEAP_MASK | XP_EDGE_CAPS,
	.state_size = sizeof(struct xp_poll_state),
	.open = poll_open,
	.close = xp_poll_close,
	.owns = xp_array_owns,
	.attach = xp_array_attach,
	.change = xp_array_change,
	.detach = xp_array_detach,
	.wait = poll_await,
	.wake = xp_array_wake,
};
