/*
 * The poll back end: one dense array of what is wanted now.
 *
 * A disabled descriptor is not in the array, so it costs nothing and cannot
 * report POLLHUP.  The scan starts where the last one stopped, so that busy
 * descriptors in front do not starve the others when the caller takes few
 * events.  What was ready and did not fit is looked at by the next waits, only
 * that and as much as fits: else many that are ready would cost a look at all
 * for each handful.  There is another look at all of them once there is room.
 *
 * The back end's own two, the wake counter and the set of
 * edge-triggered registrations, are put behind it for each call: once the
 * kernel has found something ready it does not queue on the entries that
 * follow.
 */
#include "backend/backend.h"

#include <errno.h>

#include "backend/fdmap.h"
#include "backend/own.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/time.h"
#include "os/sys.h"

struct poll_state {
	struct pollfd *fds;
	int len;      /* entries in use */
	int cap;      /* entries there is room for: >= attached + XP_OWN_ENTRIES */
	int attached; /* descriptors known, in the array or not */
	int start;    /* where the next scan begins */
	int left;     /* entries with revents that were not reported, at most */
	bool fresh;   /* the wait in progress has looked at all */
	struct xp_own own;
	struct xp_fdmap map;
	struct xp_counters *counters;
};

static int poll_reserve(struct poll_state *state, int cap)
{
	struct pollfd *fds;
	int grown = state->cap * 2 > cap ? state->cap * 2 : cap;

	if (cap <= state->cap)
		return 0;
	fds = xp_realloc(state->fds, (size_t)grown * sizeof *fds);
	if (!fds)
		return -ENOMEM;
	state->fds = fds;
	state->cap = grown;
	return 0;
}

static int poll_open(void *opaque, int size_hint, struct xp_counters *counters)
{
	struct poll_state *state = opaque;
	int rc = poll_reserve(state, 64);

	(void)size_hint;
	if (rc == 0)
		rc = xp_fdmap_init(&state->map);
	if (rc == 0)
		rc = xp_own_open(&state->own, counters);
	if (rc < 0) {
		xp_fdmap_fini(&state->map);
		xp_free(state->fds);
	}
	state->counters = counters;
	return rc;
}

static void poll_close(void *opaque)
{
	struct poll_state *state = opaque;

	xp_own_close(&state->own);
	xp_fdmap_fini(&state->map);
	xp_free(state->fds);
}

/* Take a descriptor out of the array or the edge set; it stays attached. */
static void poll_unplace(struct poll_state *state, int fd,
                         struct xp_fdmap_entry *entry)
{
	if (entry->place == XP_PLACE_ARRAY) {
		struct pollfd *last = &state->fds[--state->len];

		state->fds[entry->index] = *last;
		state->map.entries[last->fd].index = entry->index;
	} else if (entry->place == XP_PLACE_EDGE) {
		xp_edge_detach(&state->own.edge, fd);
	}
	entry->place = XP_PLACE_IDLE;
	XP_ASSERT(state->len >= 0);
}

static int poll_place(struct poll_state *state, int fd,
                      struct xp_fdmap_entry *entry, uint32_t watch)
{
	if (xp_fdmap_needs_set(watch)) {
		int rc = xp_edge_attach(&state->own.edge, fd, watch, entry->token);

		if (rc < 0)
			return rc;
		entry->place = XP_PLACE_EDGE;
	} else if (watch & XP_WATCH_BITS) {
		XP_ASSERT(state->len + XP_OWN_ENTRIES < state->cap);
		entry->index = state->len++;
		state->fds[entry->index] = (struct pollfd){.fd = fd};
		entry->place = XP_PLACE_ARRAY;
	} else {
		entry->place = XP_PLACE_IDLE;
	}
	return 0;
}

static void poll_set_bits(struct poll_state *state,
                          struct xp_fdmap_entry *entry, uint32_t watch)
{
	entry->watch = (uint16_t)(watch & XP_WATCH_BITS);
	if (entry->place == XP_PLACE_ARRAY)
		state->fds[entry->index].events = (short)entry->watch;
}

static bool poll_owns(const void *opaque, int fd)
{
	const struct poll_state *state = opaque;

	return xp_own_has(&state->own, fd) || xp_marks_own(&state->map.marks, fd);
}

/* It is attached no more. */
static void poll_remove(struct poll_state *state, int fd,
                        struct xp_fdmap_entry *entry)
{
	poll_unplace(state, fd, entry);
	xp_fdmap_forget(&state->map, fd);
	state->attached--;
	XP_ASSERT(state->attached >= state->len);
}

static int poll_attach(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct poll_state *state = opaque;
	struct xp_fdmap_entry *entry = xp_fdmap_find(&state->map, fd);
	int rc = entry ? xp_fdmap_confirm(&state->map, fd, state->counters) : -ENOENT;

	if (rc != -ENOENT)
		return rc < 0 ? rc : -EEXIST;
	if (entry)
		poll_remove(state, fd, entry);
	rc = xp_fdmap_admit(&state->map, &state->own.edge, fd, token);
	if (rc == 0)
		rc = poll_reserve(state, state->attached + 1 + XP_OWN_ENTRIES);
	if (rc < 0)
		return rc;
	XP_ASSERT(fd < state->map.len);
	entry = &state->map.entries[fd];
	rc = poll_place(state, fd, entry, watch);
	if (rc < 0)
		return rc;
	poll_set_bits(state, entry, watch);
	state->attached++;
	return 0;
}

static int poll_detach(void *opaque, int fd)
{
	struct poll_state *state = opaque;
	int rc = xp_fdmap_confirm(&state->map, fd, state->counters);
	struct xp_fdmap_entry *entry = xp_fdmap_find(&state->map, fd);

	if (entry)
		poll_remove(state, fd, entry);
	return rc;
}

static int poll_change(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct poll_state *state = opaque;
	struct xp_fdmap_entry *entry = xp_fdmap_find(&state->map, fd);
	int rc = 0;

	if (!entry)
		return -ENOENT;
	entry->token = token;
	if (entry->place == XP_PLACE_EDGE && xp_fdmap_needs_set(watch)) {
		rc = xp_edge_change(&state->own.edge, fd, watch, token);
	} else if (xp_fdmap_needs_set(watch)) {
		/* First where it may fail, so that it is always somewhere. */
		rc = xp_edge_attach(&state->own.edge, fd, watch, token);
		if (rc == 0) {
			poll_unplace(state, fd, entry);
			entry->place = XP_PLACE_EDGE;
		}
	} else if (entry->place != xp_fdmap_place_for(watch)) {
		poll_unplace(state, fd, entry);
		rc = poll_place(state, fd, entry, watch);
	}
	if (rc < 0)
		return rc;
	poll_set_bits(state, entry, watch);
	return 0;
}

/* Take out what was ready and not reported, round from `start`. */
static int poll_gather(struct poll_state *state, struct pollfd *fds, int cap)
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
	if (steps == 0) /* Some were taken out of the array meanwhile. */
		state->left = 0;
	return len;
}

/* Report what the look at all has found. */
static int poll_scan(struct poll_state *state, struct xp_fired *fired, int cap)
{
	struct pollfd fds[XP_FIRED_MOST];
	int len = poll_gather(state, fds, cap);

	for (int i = 0; i < len; i++)
		fired[i] = xp_fdmap_fired(&state->map, fds[i].fd,
		                          (unsigned short)fds[i].revents);
	return len;
}

/* Look once more at some of what did not fit; report what is ready still. */
static int poll_again(struct poll_state *state, struct xp_fired *fired, int cap)
{
	struct pollfd fds[XP_OWN_ENTRIES + XP_FIRED_MOST];
	unsigned short before[XP_FIRED_MOST];
	struct pollfd *some = fds + XP_OWN_ENTRIES;
	int len = poll_gather(state, some, cap), count;

	for (int i = 0; i < len; i++) {
		before[i] = (unsigned short)some[i].revents;
		some[i].revents = 0;
	}
	xp_own_entries(&state->own, fds);
	/* If this fails the look at all finds them, but for the news. */
	(void)xp_sys_poll_now(fds, (size_t)(XP_OWN_ENTRIES + len));
	count = xp_own_report_wake(&state->own, fds, fired);
	count += xp_own_report_edges(&state->own, fds, fired + count, cap - count);
	for (int i = 0; i < len; i++) {
		const struct xp_fdmap_entry *entry = &state->map.entries[some[i].fd];
		uint32_t events = (unsigned short)some[i].revents;

		/* The first look at such a file has taken the news away. */
		if (entry->fixed)
			events |= before[i] & (entry->watch | POLLERR);
		if (!events)
			continue;
		if (count == cap) { /* The back end's own have taken its room. */
			state->fds[entry->index].revents = (short)events;
			state->left++;
			continue;
		}
		fired[count++] = xp_fdmap_fired(&state->map, some[i].fd, events);
	}
	return count;
}

/* What the look at all has found, and the edges that are left. */
static int poll_report(struct poll_state *state, struct xp_fired *fired,
                       int count, int cap)
{
	count += poll_scan(state, fired + count, cap - count);
	return count + xp_own_report_rest(&state->own, fired + count, cap - count);
}

static int poll_await(void *opaque, int64_t deadline_ns, const sigset_t *mask,
                      struct xp_fired *fired, int cap)
{
	struct poll_state *state = opaque;
	size_t len = (size_t)state->len + XP_OWN_ENTRIES;
	struct pollfd *own = state->fds + state->len;
	int count = 0;
	int ready;

	XP_ASSERT(state->len + XP_OWN_ENTRIES <= state->cap);
	if (deadline_ns == XP_REST && state->fresh)
		return poll_report(state, fired, 0, cap);
	state->fresh = false;
	while (state->left > 0) {
		count += poll_again(state, fired + count, cap - count);
		if (count == cap)
			return count;
		/* Beside the call that the wait is counted for. */
		xp_count_shared(&state->counters->syscalls_check);
	}
	state->fresh = true;
	xp_own_entries(&state->own, own);
	if (deadline_ns <= XP_NOW || count > 0)
		ready = xp_sys_poll_now(state->fds, len);
	else
		ready = xp_sys_poll_wait(state->fds, len, deadline_ns, mask);
	if (ready <= 0)
		return count ? count : ready;
	state->left = ready - (own[XP_OWN_WAKE].revents != 0) -
		(own[XP_OWN_EDGE].revents != 0);
	count += xp_own_report_wake(&state->own, own, fired + count);
	count += xp_own_report_edges(&state->own, own, fired + count, cap - count);
	return poll_report(state, fired, count, cap);
}

static void poll_wake(void *opaque)
{
	struct poll_state *state = opaque;

	xp_count_shared(&state->counters->syscalls_wake);
	xp_wakefd_signal(&state->own.wake);
}

const struct xp_backend_ops xp_backend_poll = {
	.name = "poll",
	.caps = XP_CAP_FREE_CHANGE | XP_CAP_KNOWS_FILE | XP_CAP_MASK | XP_EDGE_CAPS,
	.state_size = sizeof(struct poll_state),
	.open = poll_open,
	.close = poll_close,
	.owns = poll_owns,
	.attach = poll_attach,
	.change = poll_change,
	.detach = poll_detach,
	.wait = poll_await,
	.wake = poll_wake,
};
