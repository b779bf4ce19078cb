/*
 * The select back end, on bit sets of its own, so any descriptor number will
 * do: the kernel takes as many bits as it is given.  select reports three
 * conditions, poll(2) eight, so what fired is looked at once more by poll(2),
 * as many as fit, and reported in its terms.  The next waits go on with the
 * rest, and then look at all again if there is room.
 */
#include "backend/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "backend/array.h"
#include "backend/bitset.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/time.h"
#include "os/sys.h"

struct select_state {
	struct xp_array array;
	struct xp_bitsets sets;
	int start;   /* the number the next scan begins at */
	bool left;   /* some that fired were perhaps not reported */
	bool fresh;  /* the wait in progress has looked at all */
	bool helper_last; /* whose turn it was */
};

/*
 * Are these bits watched by the helper set?  Edges, and what select has no
 * word for: it reports a hang-up only together with readable or writable.
 */
static bool select_needs_helper(const struct xp_array_entry *entry, uint32_t watch)
{
	uint32_t bits = watch & XP_WATCH_BITS;

	if (watch & XP_WATCH_EDGE)
		return true;
	return !(bits & POLLIN) && !entry->fixed &&
		(bits != POLLOUT || entry->hup_unwritable);
}

/*
 * Can the file hang up without being writable?  A descriptor that was opened
 * for reading, and a socket whose buffer is full.
 */
static int select_prepare(void *opaque, int fd)
{
	struct select_state *state = opaque;
	struct xp_array_entry *entry = &state->array.entries[fd];

	entry->hup_unwritable = entry->socket ||
		(xp_sys_open_flags(fd) & O_ACCMODE) == O_RDONLY;
	return xp_bitsets_reserve(&state->sets, fd);
}

static void select_want(void *opaque, int fd, uint32_t bits)
{
	struct select_state *state = opaque;

	xp_bitsets_want(&state->sets, fd, bits);
}

static const struct xp_array_ops select_array = {
	.prepare = select_prepare,
	.needs_set = select_needs_helper,
	.want = select_want,
};

static void select_close(void *opaque)
{
	struct select_state *state = opaque;

	xp_array_close(&state->array);
	xp_bitsets_fini(&state->sets);
}

static int select_open(void *opaque, int size_hint, struct xp_counters *counters)
{
	struct select_state *state = opaque;
	int rc = xp_array_open(&state->array, &select_array, counters);
	int wake_fd = state->array.wake.fd, edge_fd = state->array.edge.fd;

	(void)size_hint;
	if (rc < 0)
		return rc;
	rc = xp_bitsets_reserve(&state->sets, wake_fd > edge_fd ? wake_fd : edge_fd);
	if (rc < 0)
		return select_close(state), rc;
	xp_bitsets_want(&state->sets, wake_fd, POLLIN);
	xp_bitsets_want(&state->sets, edge_fd, POLLIN);
	return 0;
}

/* A dead entry of the helper set is reported for ever. */
static int select_renew(void *opaque)
{
	struct select_state *state = opaque;
	int rc = xp_edge_renew(&state->array.edge);

	for (int fd = 0; rc == 0 && fd < state->array.len; fd++) {
		if (state->array.entries[fd].place == XP_PLACE_ARRAY)
			xp_bitsets_want(&state->sets, fd, 0);
		state->array.entries[fd].place = XP_PLACE_NONE;
	}
	state->array.attached = rc == 0 ? 0 : state->array.attached;
	return rc;
}

/*
 * Look at some of what select has found in poll(2)'s terms, and at the back
 * end's own, which come first.  fresh: select has just reported.
 */
static int select_look(struct select_state *state, struct pollfd *fds, int cap, bool fresh)
{
	const struct xp_bitsets *sets = &state->sets;
	struct pollfd *some = fds + XP_OWN_ENTRIES;
	int len = xp_bitsets_gather(sets, &state->array, &state->start, some, cap);

	xp_array_own(&state->array, fds);
	for (int i = 0; i < XP_OWN_ENTRIES; i++)
		if (fresh && xp_bitsets_fired(sets, fds[i].fd))
			fds[i].revents = POLLIN;
	state->left = len > 0;
	if (len == 0)
		return 0;
	xp_count_shared(&state->array.counters->syscalls_check);
	if (xp_sys_poll_now(fds, (size_t)(XP_OWN_ENTRIES + len)) < 0)
		for (int i = 0; i < len; i++)
			some[i].revents = (short)xp_bitsets_fired(sets, some[i].fd);
	return len;
}

static int select_report(struct select_state *state, const struct pollfd *fds,
                         int len, struct xp_fired *fired, int room)
{
	int count = 0;

	for (int i = 0; i < len; i++) {
		int fd = fds[i].fd;
		const struct xp_array_entry *entry = &state->array.entries[fd];
		uint32_t events = (unsigned short)fds[i].revents;

		if (count == room) {
			state->start = fd;
			break;
		}
		/* A first look at such a file takes the news away. */
		if (entry->fixed)
			events |= xp_bitsets_fired(&state->sets, fd) & entry->watch;
		xp_bitsets_unfire(&state->sets, fd);
		if (events)
			fired[count++] = xp_array_fired(&state->array, fd, events);
	}
	return count;
}

/* EBADF: somebody closed a descriptor; find those and report POLLNVAL. */
static int select_find_closed(struct select_state *state,
                              struct xp_fired *fired, int cap)
{
	int count = 0;

	for (int fd = 0; fd < state->sets.top && count < cap; fd++) {
		struct xp_array_entry *entry = xp_array_find(&state->array, fd);

		if (!entry || entry->place != XP_PLACE_ARRAY)
			continue;
		xp_count_shared(&state->array.counters->syscalls_check);
		if (xp_sys_open_flags(fd) < 0)
			fired[count++] = xp_array_fired(&state->array, fd, POLLNVAL);
	}
	return count;
}

static int select_harvest(struct select_state *state, struct xp_fired *fired,
                          int cap, bool fresh)
{
	struct pollfd fds[XP_OWN_ENTRIES + XP_FIRED_MOST];
	int len = select_look(state, fds, cap, fresh);
	int count = xp_array_report_wake(&state->array, fds, fired);

	/* Each is first in its turn; the second marks what is left, also without room. */
	for (int last = 0; last <= 1 && (len > 0 || fresh); last++) {
		int room = cap - count;

		if (last != state->helper_last)
			count += select_report(state, fds + XP_OWN_ENTRIES, len,
			                       fired + count, room);
		else
			count += xp_array_report_edges(&state->array, fds, fired + count, room);
	}
	if (count > 0)
		state->helper_last = !state->helper_last;
	return count;
}

/* What is left of the last look at all, and of the edges. */
static int select_rest(struct select_state *state, struct xp_fired *fired,
                       int count, int cap)
{
	while (state->left && count < cap)
		count += select_harvest(state, fired + count, cap - count, false);
	return count + xp_array_report_rest(&state->array, fired + count, cap - count);
}

/* Look at all. */
static int select_ask(struct select_state *state, int64_t deadline_ns,
                      const sigset_t *mask)
{
	struct xp_bitsets *sets = &state->sets;
	size_t size = (size_t)((sets->top + WORD_BITS - 1) / WORD_BITS) *
		sizeof(long);

	for (int i = 0; i < SETS; i++)
		memcpy(sets->fired[i], sets->wanted[i], size);
	if (deadline_ns <= XP_NOW)
		return xp_sys_select_now(sets->top, sets->fired[SET_IN],
		                         sets->fired[SET_OUT],
		                         sets->fired[SET_EXCEPT]);
	return xp_sys_select_wait(sets->top, sets->fired, deadline_ns, mask);
}

static int select_await(void *opaque, int64_t deadline_ns,
                        const sigset_t *mask, struct xp_fired *fired, int cap)
{
	struct select_state *state = opaque;
	int count, rc;

	/* Levels of the helper set are left each time, and would take all the room. */
	state->array.edges_left &= deadline_ns == XP_REST;
	state->fresh &= deadline_ns == XP_REST;
	count = select_rest(state, fired, 0, cap);
	if (state->fresh || count == cap)
		return count;
	state->fresh = true;
	rc = select_ask(state, count ? XP_NOW : deadline_ns, mask);
	if (rc == -EBADF)
		return count + select_find_closed(state, fired + count, cap - count);
	if (rc > 0)
		count += select_harvest(state, fired + count, cap - count, true);
	else if (count == 0)
		return rc;
	return select_rest(state, fired, count, cap);
}

const struct xp_backend_ops xp_backend_select = {
	.name = "select",
	.caps = XP_CAP_FREE_CHANGE | XP_CAP_KNOWS_FILE | XP_CAP_MASK | XP_EDGE_CAPS,
	.state_size = sizeof(struct select_state),
	.open = select_open,
	.close = select_close,
	.owns = xp_array_owns,
	.attach = xp_array_attach,
	.change = xp_array_change,
	.detach = xp_array_detach,
	.wait = select_await,
	.wake = xp_array_wake,
	.renew = &(const struct xp_renew_ops){.begin = select_renew},
};
