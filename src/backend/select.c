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

#include "backend/bitset.h"
#include "backend/fdmap.h"
#include "backend/own.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/time.h"
#include "os/sys.h"

struct select_state {
	struct xp_bitsets sets;
	int start;   /* the number the next scan begins at */
	bool left;   /* some that fired were perhaps not reported */
	bool fresh;  /* the wait in progress has looked at all */
	bool helper_last; /* whose turn it was */
	struct xp_own own;
	struct xp_fdmap map;
	struct xp_counters *counters;
};

/*
 * Are these bits watched by the helper set?  Edges, and what select has no
 * word for: it reports a hang-up only together with readable or writable.  Not edges
 * of nothing: making room for them allocates.
 */
static bool select_needs_helper(const struct xp_fdmap_entry *entry, uint32_t watch)
{
	uint32_t bits = watch & XP_WATCH_BITS;

	return bits && (watch & XP_WATCH_EDGE ||
		(!(bits & POLLIN) && !entry->fixed &&
		 (bits != POLLOUT || entry->hup_unwritable)));
}

static void select_close(void *opaque)
{
	struct select_state *state = opaque;

	xp_own_close(&state->own);
	xp_fdmap_fini(&state->map);
	xp_bitsets_fini(&state->sets);
}

static int select_open(void *opaque, int size_hint, struct xp_counters *counters)
{
	struct select_state *state = opaque;
	int rc = xp_own_open(&state->own, counters);
	int wake_fd = state->own.wake.fd, edge_fd = state->own.edge.fd;

	(void)size_hint;
	if (rc < 0)
		return rc;
	state->counters = counters;
	rc = xp_fdmap_init(&state->map);
	if (rc == 0)
		rc = xp_bitsets_reserve(&state->sets, wake_fd > edge_fd ? wake_fd : edge_fd);
	if (rc < 0)
		return select_close(state), rc;
	xp_bitsets_want(&state->sets, wake_fd, POLLIN);
	xp_bitsets_want(&state->sets, edge_fd, POLLIN);
	return 0;
}

static int select_place(struct select_state *state, int fd,
                        struct xp_fdmap_entry *entry, uint32_t watch)
{
	if (select_needs_helper(entry, watch)) {
		int rc = xp_edge_attach(&state->own.edge, fd, watch, entry->token);

		if (rc == 0) {
			xp_bitsets_want(&state->sets, fd, 0); /* Not before. */
			entry->place = XP_PLACE_EDGE;
		}
		return rc;
	}
	xp_bitsets_want(&state->sets, fd, watch);
	entry->place = watch & XP_WATCH_BITS ? XP_PLACE_ARRAY : XP_PLACE_IDLE;
	return 0;
}

/*
 * Can the file hang up without being writable?  A descriptor that was opened
 * for reading, and a socket whose buffer is full.
 */
static bool hangs_up_unwritable(int fd)
{
	struct stat status;

	return (xp_sys_open_flags(fd) & O_ACCMODE) == O_RDONLY ||
		(xp_sys_fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode));
}

static bool select_owns(const void *opaque, int fd)
{
	const struct select_state *state = opaque;

	return xp_own_has(&state->own, fd) || xp_marks_own(&state->map.marks, fd);
}

static void select_unplace(struct select_state *state, int fd, struct xp_fdmap_entry *entry)
{
	if (entry->place == XP_PLACE_ARRAY)
		xp_bitsets_want(&state->sets, fd, 0);
	else if (entry->place == XP_PLACE_EDGE)
		xp_edge_detach(&state->own.edge, fd);
	entry->place = XP_PLACE_IDLE;
}

static int select_attach(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct select_state *state = opaque;
	struct xp_fdmap_entry *entry = xp_fdmap_find(&state->map, fd);
	int rc = entry ? xp_fdmap_confirm(&state->map, fd, state->counters) : -ENOENT;

	if (rc != -ENOENT)
		return rc < 0 ? rc : -EEXIST;
	if (entry) {
		select_unplace(state, fd, entry);
		xp_fdmap_forget(&state->map, fd);
	}
	rc = xp_fdmap_admit(&state->map, &state->own.edge, fd, token);
	if (rc == 0)
		rc = xp_bitsets_reserve(&state->sets, fd);
	if (rc < 0)
		return rc;
	entry = &state->map.entries[fd];
	entry->hup_unwritable = hangs_up_unwritable(fd);
	entry->watch = (uint16_t)(watch & XP_WATCH_BITS);
	return select_place(state, fd, entry, watch);
}

/* A dead entry of the helper set is reported for ever. */
static int select_renew(void *opaque)
{
	struct select_state *state = opaque;
	int rc = xp_edge_renew(&state->own.edge);

	for (int fd = 0; rc == 0 && fd < state->map.len; fd++) {
		if (state->map.entries[fd].place == XP_PLACE_ARRAY)
			xp_bitsets_want(&state->sets, fd, 0);
		state->map.entries[fd].place = XP_PLACE_NONE;
	}
	return rc;
}

static int select_detach(void *opaque, int fd)
{
	struct select_state *state = opaque;
	int rc = xp_fdmap_confirm(&state->map, fd, state->counters);
	struct xp_fdmap_entry *entry = xp_fdmap_find(&state->map, fd);

	if (entry) {
		select_unplace(state, fd, entry);
		xp_fdmap_forget(&state->map, fd);
	}
	return rc;
}

static int select_change(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct select_state *state = opaque;
	struct xp_fdmap_entry *entry = xp_fdmap_find(&state->map, fd);
	int rc;

	if (!entry)
		return -ENOENT;
	entry->token = token;
	if (entry->place == XP_PLACE_EDGE && select_needs_helper(entry, watch)) {
		rc = xp_edge_change(&state->own.edge, fd, watch, token);
	} else {
		if (entry->place == XP_PLACE_EDGE)
			select_unplace(state, fd, entry);
		rc = select_place(state, fd, entry, watch);
	}
	if (rc == 0)
		entry->watch = (uint16_t)(watch & XP_WATCH_BITS);
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
	int len = xp_bitsets_gather(sets, &state->map, &state->start, some, cap);

	xp_own_entries(&state->own, fds);
	for (int i = 0; i < XP_OWN_ENTRIES; i++)
		if (fresh && xp_bitsets_fired(sets, fds[i].fd))
			fds[i].revents = POLLIN;
	state->left = len > 0;
	if (len == 0)
		return 0;
	xp_count_shared(&state->counters->syscalls_check);
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
		const struct xp_fdmap_entry *entry = &state->map.entries[fd];
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
			fired[count++] = xp_fdmap_fired(&state->map, fd, events);
	}
	return count;
}

/* EBADF: somebody closed a descriptor; find those and report POLLNVAL. */
static int select_find_closed(struct select_state *state,
                              struct xp_fired *fired, int cap)
{
	int count = 0;

	for (int fd = 0; fd < state->sets.top && count < cap; fd++) {
		struct xp_fdmap_entry *entry = xp_fdmap_find(&state->map, fd);

		if (!entry || entry->place != XP_PLACE_ARRAY)
			continue;
		xp_count_shared(&state->counters->syscalls_check);
		if (xp_sys_open_flags(fd) < 0)
			fired[count++] = xp_fdmap_fired(&state->map, fd, POLLNVAL);
	}
	return count;
}

static int select_harvest(struct select_state *state, struct xp_fired *fired,
                          int cap, bool fresh)
{
	struct pollfd fds[XP_OWN_ENTRIES + XP_FIRED_MOST];
	int len = select_look(state, fds, cap, fresh);
	int count = xp_own_report_wake(&state->own, fds, fired);

	/* Each is first in its turn; the second marks what is left, also without room. */
	for (int last = 0; last <= 1 && (len > 0 || fresh); last++) {
		int room = cap - count;

		if (last != state->helper_last)
			count += select_report(state, fds + XP_OWN_ENTRIES, len,
			                       fired + count, room);
		else
			count += xp_own_report_edges(&state->own, fds, fired + count, room);
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
	return count + xp_own_report_rest(&state->own, fired + count, cap - count);
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
	state->own.edges_left &= deadline_ns == XP_REST;
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

static void select_wake(void *opaque)
{
	struct select_state *state = opaque;

	xp_count_shared(&state->counters->syscalls_wake);
	xp_wakefd_signal(&state->own.wake);
}

const struct xp_backend_ops xp_backend_select = {
	.name = "select",
	.caps = XP_CAP_FREE_CHANGE | XP_CAP_KNOWS_FILE | XP_CAP_MASK | XP_EDGE_CAPS,
	.state_size = sizeof(struct select_state),
	.open = select_open,
	.close = select_close,
	.owns = select_owns,
	.attach = select_attach,
	.change = select_change,
	.detach = select_detach,
	.wait = select_await,
	.wake = select_wake,
	.renew = &(const struct xp_renew_ops){.begin = select_renew},
};
