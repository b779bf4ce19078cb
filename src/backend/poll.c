/*
 * The poll back end: one dense array of what is wanted now.
 *
 * A disabled descriptor is not in the array, so it costs nothing and cannot
 * report POLLHUP.  The scan starts where the last one stopped, so that busy
 * descriptors in front do not starve the others when the caller takes few
 * events.  The back end's own two, the wake counter and the set of
 * edge-triggered registrations, are put behind it for each call: once the
 * kernel has found something ready it does not queue on the entries that
 * follow.
 */
#include "backend/backend.h"

#include <errno.h>

#include "backend/edge.h"
#include "backend/fdmap.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/time.h"
#include "os/beacon.h"
#include "os/sys.h"

enum { OWN_WAKE, OWN_EDGE, OWN_ENTRIES };

struct poll_state {
	struct pollfd *fds;
	int len;      /* entries in use */
	int cap;      /* entries there is room for: >= attached + OWN_ENTRIES */
	int attached; /* descriptors known, in the array or not */
	int start;    /* where the next scan begins */
	struct xp_beacon wake; /* immutable: lit by any thread, without the lock */
	struct xp_fdmap map;
	struct xp_edge edge;
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
	int rc = xp_beacon_open(&state->wake);

	(void)size_hint;
	if (rc < 0)
		return rc;
	rc = poll_reserve(state, 64);
	if (rc == 0)
		rc = xp_edge_init(&state->edge, counters);
	if (rc < 0) {
		xp_free(state->fds);
		xp_beacon_close(&state->wake);
		return rc;
	}
	state->counters = counters;
	return 0;
}

static void poll_close(void *opaque)
{
	struct poll_state *state = opaque;

	xp_beacon_close(&state->wake);
	xp_edge_fini(&state->edge);
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
		xp_edge_detach(&state->edge, fd);
	}
	entry->place = XP_PLACE_IDLE;
	XP_ASSERT(state->len >= 0);
}

static int poll_place(struct poll_state *state, int fd,
                      struct xp_fdmap_entry *entry, uint32_t watch)
{
	if (watch & XP_WATCH_EDGE) {
		int rc = xp_edge_attach(&state->edge, fd, watch, entry->token);

		if (rc < 0)
			return rc;
		entry->place = XP_PLACE_EDGE;
	} else if (watch & XP_WATCH_BITS) {
		XP_ASSERT(state->len + OWN_ENTRIES < state->cap);
		entry->index = state->len++;
		state->fds[entry->index].fd = fd;
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

	return xp_beacon_has(&state->wake, fd) || fd == state->edge.fd;
}

static int poll_attach(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct poll_state *state = opaque;
	struct xp_fdmap_entry *entry;
	int rc;

	if (xp_fdmap_find(&state->map, fd))
		return -EEXIST;
	rc = xp_edge_admit(&state->edge, fd);
	if (rc < 0)
		return rc;
	rc = xp_fdmap_reserve(&state->map, fd);
	if (rc == 0)
		rc = poll_reserve(state, state->attached + 1 + OWN_ENTRIES);
	if (rc < 0)
		return rc;
	XP_ASSERT(fd < state->map.len);
	entry = &state->map.entries[fd];
	entry->token = token;
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
	struct xp_fdmap_entry *entry = xp_fdmap_find(&state->map, fd);
	int rc = xp_sys_open_flags(fd);

	xp_count(&state->counters->syscalls_check);
	if (!entry)
		return rc < 0 ? rc : -ENOENT;
	poll_unplace(state, fd, entry);
	entry->place = XP_PLACE_NONE;
	state->attached--;
	XP_ASSERT(state->attached >= state->len);
	return rc < 0 ? rc : 0;
}

static enum xp_fdmap_place place_for(uint32_t watch)
{
	if (watch & XP_WATCH_EDGE)
		return XP_PLACE_EDGE;
	return watch & XP_WATCH_BITS ? XP_PLACE_ARRAY : XP_PLACE_IDLE;
}

static int poll_change(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct poll_state *state = opaque;
	struct xp_fdmap_entry *entry = xp_fdmap_find(&state->map, fd);
	int rc = 0;

	if (!entry)
		return -ENOENT;
	entry->token = token;
	if (entry->place == XP_PLACE_EDGE && watch & XP_WATCH_EDGE) {
		rc = xp_edge_change(&state->edge, fd, watch, token);
	} else if (watch & XP_WATCH_EDGE) {
		/* First where it may fail, so that it is always somewhere. */
		rc = xp_edge_attach(&state->edge, fd, watch, token);
		if (rc == 0) {
			poll_unplace(state, fd, entry);
			entry->place = XP_PLACE_EDGE;
		}
	} else if (entry->place != place_for(watch)) {
		poll_unplace(state, fd, entry);
		rc = poll_place(state, fd, entry, watch);
	}
	if (rc < 0)
		return rc;
	poll_set_bits(state, entry, watch);
	return 0;
}

/* Harvest the array, round from `start`, `ready` entries at the most. */
static int poll_scan(struct poll_state *state, int ready,
                     struct xp_fired *fired, int cap)
{
	int count = 0;
	int left = state->len;
	int i = state->start < state->len ? state->start : 0;

	for (; left > 0 && ready > 0 && count < cap; left--) {
		const struct pollfd *entry = &state->fds[i];

		if (entry->revents) {
			fired[count].token = state->map.entries[entry->fd].token;
			fired[count++].events = (uint32_t)(unsigned short)entry->revents;
			ready--;
		}
		if (++i == state->len)
			i = 0;
	}
	state->start = i;
	return count;
}

/* The wake counter and the edge-triggered registrations. */
static int poll_scan_own(struct poll_state *state, const struct pollfd *own,
                         int *ready, struct xp_fired *fired, int cap)
{
	int count = 0;

	if (own[OWN_WAKE].revents) {
		xp_beacon_dim(&state->wake);
		fired[count++] = (struct xp_fired){.token = XP_TOKEN_WAKE};
		--*ready;
	}
	if (own[OWN_EDGE].revents) {
		if (count < cap)
			count += xp_edge_harvest(&state->edge, fired + count,
			                         cap - count);
		--*ready;
	}
	return count;
}

static int poll_await(void *opaque, int64_t deadline_ns, const sigset_t *mask,
                      struct xp_fired *fired, int cap)
{
	struct poll_state *state = opaque;
	size_t len = (size_t)state->len + OWN_ENTRIES;
	struct pollfd *own = state->fds + state->len;
	int count;
	int ready;

	XP_ASSERT(state->len + OWN_ENTRIES <= state->cap);
	own[OWN_WAKE] = (struct pollfd){.fd = state->wake.fd, .events = POLLIN};
	own[OWN_EDGE] = (struct pollfd){.fd = state->edge.fd, .events = POLLIN};
	if (deadline_ns == XP_NOW)
		ready = xp_sys_poll_now(state->fds, len);
	else
		ready = xp_sys_poll_wait(state->fds, len, deadline_ns, mask);
	if (ready <= 0)
		return ready;
	count = poll_scan_own(state, own, &ready, fired, cap);
	return count + poll_scan(state, ready, fired + count, cap - count);
}

static void poll_wake(void *opaque)
{
	struct poll_state *state = opaque;

	xp_count_shared(&state->counters->syscalls_wake);
	xp_beacon_light(&state->wake);
}

const struct xp_backend_ops xp_backend_poll = {
	.name = "poll",
	.caps = XP_CAP_FREE_CHANGE,
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
