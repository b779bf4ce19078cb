/*
 * The /dev/poll back end, for Solaris and illumos.
 *
 * The device has a set of descriptors; changes are written to it just before a wait
 * (devpoll_set.c).  So a wait is mostly one system call, or two after changes, and a change is
 * none.
 *
 * Only one thread at a time waits in the device, because on older kernels a write(2) to it blocks
 * until no thread sleeps in it, and a change must not block with the queue's lock held.  The device
 * belongs to the process that wrote to it first, so a forked child cannot use it.  The device
 * itself cannot be polled, takes no signal mask, and cannot watch edge-triggered.
 */
#include "sunos/devpoll_state.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/table.h"
#include "base/time.h"
#include "sunos/sys_devpoll.h"
#include "sunos/system.h"
#include "sys/sys.h"

/*
 * Open the device and write the back end's own entries to it: the wake-up descriptor and, if there
 * is one, the set of edge-triggered registrations.  Returns 0 or a negative errno value; -ENOSYS
 * also if another device has this name.
 */
static int devpoll_open_device(struct devpoll_state *state)
{
	struct pollfd own[XP_OWN_ENTRIES];
	int device = xp_sys_devpoll_open();
	int rc;

	if (device < 0)
		return device;
	xp_array_fill_own(&state->array, own);
	rc = xp_sys_devpoll_write(device, own, state->array.edge.fd < 0
	                          ? XP_OWN_EDGE : XP_OWN_ENTRIES);
	/*
	 * Check that the device has the wake-up descriptor: another file of this name may accept
	 * writes, too.
	 */
	if (rc == 0)
		rc = xp_sys_devpoll_has(device, state->array.wake.fd);
	state->device = device;
	if (rc > 0)
		return 0;
	xp_sys_close(device);
	return rc < 0 ? rc : -ENOSYS;
}

static void devpoll_free(struct devpoll_state *state)
{
	xp_array_close(&state->array);
	xp_free(state->dirty);
	xp_free(state->fds);
}

static int devpoll_open(void *opaque, int size_hint,
                        struct xp_counters *counters)
{
	struct devpoll_state *state = opaque;
	int rc = xp_array_open(&state->array, &xp_devpoll_array, counters);

	(void)size_hint;
	if (rc < 0)
		return rc;
	state->results_most = XP_FIRED_MOST;
	rc = XP_TABLE_RESERVE(&state->fds, &state->cap, XP_FIRED_MOST);
	if (rc == 0)
		rc = devpoll_open_device(state);
	if (rc < 0)
		devpoll_free(state);
	/* -ENOSYS makes the queue use another back end: the device is missing or hidden. */
	return rc == -ENOENT || rc == -ENXIO || rc == -ENODEV || rc == -ENOTTY
		? -ENOSYS : rc;
}

static void devpoll_close(void *opaque)
{
	struct devpoll_state *state = opaque;

	xp_sys_close(state->device);
	devpoll_free(state);
}

static bool devpoll_owns(const void *opaque, int fd)
{
	const struct devpoll_state *state = opaque;

	return fd == state->device || xp_array_owns(opaque, fd);
}

static bool devpoll_has_pending(const void *opaque)
{
	const struct devpoll_state *state = opaque;

	return state->dirty_len > 0;
}

/*
 * Pass changes to the device.  Stores no report, because the next wait reports closed descriptors.
 */
static int devpoll_flush(void *opaque, struct xp_fired *fired, int cap)
{
	struct devpoll_state *state = opaque;

	(void)fired, (void)cap;
	return xp_devpoll_write(state);
}

/* Store reports of the set of edge-triggered registrations.  Returns their number. */
static int devpoll_report_edges(struct devpoll_state *state, struct xp_fired *fired,
                                int room)
{
	int count = xp_edge_harvest(&state->array.edge, fired, room);

	state->array.edges_left = count == room;
	state->more |= state->array.edges_left;
	return count;
}

/*
 * Handle one descriptor that the device has returned: store its report or, if it is the set of
 * edge-triggered registrations, up to `results_most` reports of that set.  Returns the number of
 * reports; 0: none of the bits is requested, so the next write removes them from the device
 * (xp_devpoll_replace).
 */
static int devpoll_report(struct devpoll_state *state, const struct pollfd *ready,
                          struct xp_fired *fired, int room)
{
	const struct xp_array_entry *entry;
	uint32_t events = (unsigned short)ready->revents;

	XP_ASSERT(room > 0);
	if (ready->fd == state->array.wake.fd) {
		xp_wakefd_clear(&state->array.wake);
		*fired = (struct xp_fired){.token = XP_TOKEN_WAKE};
		return 1;
	}
	if (ready->fd == state->array.edge.fd)
		return devpoll_report_edges(state, fired, room);
	XP_ASSERT(ready->fd < state->array.len);
	entry = &state->array.entries[ready->fd];
	events &= entry->requested | POLLERR | POLLHUP | POLLNVAL;
	if (entry->watched_in == XP_PLACE_ARRAY && events) {
		*fired = (struct xp_fired){.token = entry->token, .events = events};
		return 1;
	}
	xp_devpoll_replace(state, ready->fd);
	return 0;
}

/* Wait with a signal mask, which the device does not take: by poll(2) of all descriptors. */
static int devpoll_await_masked(struct devpoll_state *state, int64_t deadline_ns,
                                const sigset_t *mask, struct xp_fired *fired,
                                int cap)
{
	int len = XP_OWN_ENTRIES;
	int count = 0;
	int rc;

	xp_array_fill_own(&state->array, state->fds);
	for (int fd = 0; fd < state->array.len; fd++)
		if (state->array.entries[fd].watched_in == XP_PLACE_ARRAY)
			state->fds[len++] = (struct pollfd){
				.fd = fd,
				.events = (short)state->array.entries[fd].requested,
			};
	XP_ASSERT(len <= state->cap);
	rc = xp_sys_poll_wait(state->fds, (size_t)len, deadline_ns, mask);
	if (rc < 0)
		return rc;
	for (int i = 0; i < len && rc > 0 && count < cap; i++) {
		const struct pollfd *entry = &state->fds[state->start++ % len];

		if (entry->revents)
			count += devpoll_report(state, entry, fired + count,
			                        cap - count);
	}
	state->start %= len;
	return count;
}

/* Wait by the device.  Returns the number of results in state->fds, or a negative errno value. */
static int devpoll_ask(struct devpoll_state *state, int64_t deadline_ns, int cap)
{
	for (;;) {
		int room = cap < state->results_most ? cap : state->results_most;
		int rc = deadline_ns <= XP_NOW
			? xp_sys_devpoll_now(state->device, state->fds, room)
			: xp_sys_devpoll_wait(state->device, state->fds, room,
			                      deadline_ns);

		state->more = rc == room;
		/*
		 * EINVAL: the number of results has to be below the limit of open files, so request
		 * half as many.
		 */
		if (rc != -EINVAL || room == 1)
			return rc;
		state->results_most = room / 2;
	}
}

static int devpoll_await(void *opaque, int64_t deadline_ns, const sigset_t *mask,
                         struct xp_fired *fired, int cap)
{
	struct devpoll_state *state = opaque;
	int count = 0;
	int len;

	/*
	 * XP_NOW_CONTINUED: this wait continues the previous one.  Report the remaining edges
	 * first, because level-triggered reports come again in each call and would take the room.
	 */
	if (deadline_ns == XP_NOW_CONTINUED)
		count = xp_array_report_rest(&state->array, fired, cap);
	if (count == cap)
		return count;
	/*
	 * If all results were for bits that are no longer requested, write the changes that remove
	 * those bits from the device, and wait again.
	 */
	do {
		len = xp_devpoll_write(state);
		if (len < 0)
			return count > 0 ? count : len;
		if (mask && deadline_ns > XP_NOW)
			return devpoll_await_masked(state, deadline_ns, mask, fired,
			                            cap);
		len = devpoll_ask(state, deadline_ns, cap - count);
		for (int i = 0; i < len; i++)
			count += devpoll_report(state, &state->fds[i],
			                        fired + count,
			                        cap - count - (len - 1 - i));
	} while (len > 0 && count == 0);
	if (len < 0)
		return count > 0 ? count : len;
	return state->more ? xp_fired_add_more(fired, count, cap) : count;
}

const struct xp_backend_ops xp_backend_devpoll = {
	.name = "devpoll",
	.caps = XP_CAP_FREE_CHANGE | XP_CAP_KNOWS_FILE | XP_CAP_EXCEPT,
	.state_size = sizeof(struct devpoll_state),
	.open = devpoll_open,
	.close = devpoll_close,
	.owns = devpoll_owns,
	.attach = xp_devpoll_attach,
	.change = xp_array_change,
	.detach = xp_array_detach,
	.has_pending = devpoll_has_pending,
	.flush = devpoll_flush,
	.wait = devpoll_await,
	.wake = xp_array_wake,
};
