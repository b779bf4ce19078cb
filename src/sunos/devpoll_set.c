/*
 * The descriptors of the /dev/poll back end, and the records written to the device.
 *
 * Changes are collected, and written together just before the next wait.  Bits written for a
 * descriptor that is in the set are added to its bits, so to remove bits the descriptor is removed
 * first, in the same write.  The device does not notice a close: the descriptor stays in the set,
 * and reports POLLNVAL, nothing, or the state of another file.  So if the device still has a
 * descriptor that is being attached, the descriptor is removed first, and then added.
 */
#include "sunos/devpoll_state.h"

#include <errno.h>

#include "base/assert.h"
#include "base/table.h"
#include "sunos/sys_devpoll.h"

enum {
	DEVPOLL_RECORDS = 2,     /* most records for one descriptor */
	/* flag of entry->index: the device has the descriptor; the lower bits are its events */
	DEVPOLL_THERE = 0x10000,
};

/*
 * Add a descriptor to state->dirty, the list of those whose changes the next write passes to the
 * device, unless it is in the list.
 */
static void devpoll_mark(struct devpoll_state *state, int fd)
{
	struct xp_array_entry *entry = &state->array.entries[fd];

	if (entry->dirty)
		return;
	XP_ASSERT(state->dirty_len < state->dirty_cap);
	entry->dirty = true;
	state->dirty[state->dirty_len++] = fd;
}

/*
 * Returns the value of entry->index (no index here) for a descriptor of which these POLL* bits are
 * requested: DEVPOLL_THERE and the events that the device has for it; 0: no bits, so the device
 * does not have the descriptor.
 */
static int32_t devpoll_device_bits(uint32_t bits)
{
	return bits ? DEVPOLL_THERE | xp_sys_devpoll_bits(bits) : 0;
}

static int32_t devpoll_wanted(const struct xp_array_entry *entry)
{
	return devpoll_device_bits(entry->watched_in == XP_PLACE_ARRAY ? entry->requested : 0);
}

/* Store the records that change a descriptor in the device.  Returns their number, 0 to 2. */
static int devpoll_record(const struct xp_array_entry *entry, int fd,
                          struct pollfd *records)
{
	int32_t has = entry->index;
	int32_t wanted = devpoll_wanted(entry);
	int len = 0;

	if (has == wanted && !entry->has_stale_entry)
		return 0;
	if (has && (entry->has_stale_entry || has & ~wanted))
		records[len++] = (struct pollfd){.fd = fd, .events = POLLREMOVE};
	if (wanted)
		records[len++] = (struct pollfd){
			.fd = fd,
			.events = (short)(wanted & ~DEVPOLL_THERE),
		};
	return len;
}

/*
 * Called when the changes of the dirty descriptors from index `from` on were written: removes these
 * descriptors from the list.
 */
static void devpoll_clear_dirty(struct devpoll_state *state, int from)
{
	while (state->dirty_len > from) {
		struct xp_array_entry *entry =
			&state->array.entries[state->dirty[--state->dirty_len]];

		entry->index = devpoll_wanted(entry);
		entry->dirty = false;
		entry->has_stale_entry = false;
	}
}

/*
 * Write the changes, in several calls if there are more records than state->fds has room for, or
 * than the limit of open files.
 */
int xp_devpoll_write(struct devpoll_state *state)
{
	int most = state->cap;

	while (state->dirty_len > 0) {
		int from = state->dirty_len;
		int len = 0;
		int rc = 0;

		while (from > 0 && len + DEVPOLL_RECORDS <= most) {
			int fd = state->dirty[--from];

			len += devpoll_record(&state->array.entries[fd], fd,
			                      &state->fds[len]);
		}
		if (len > 0) {
			xp_count_shared(&state->array.counters->syscalls_change);
			rc = xp_sys_devpoll_write(state->device, state->fds, len);
		}
		if (rc == 0)
			devpoll_clear_dirty(state, from);
		else if (rc == -EINVAL && len > DEVPOLL_RECORDS)
			most = len / 2 < DEVPOLL_RECORDS ? DEVPOLL_RECORDS : len / 2;
		else
			return rc;
	}
	return 0;
}

void xp_devpoll_replace(struct devpoll_state *state, int fd)
{
	struct xp_array_entry *entry = &state->array.entries[fd];

	XP_ASSERT(fd >= 0 && fd < state->array.len);
	/*
	 * If fd was closed when its removal was written, the device still has the old entry: write
	 * the removal again, and then add what is requested.
	 */
	entry->index = DEVPOLL_THERE;
	entry->has_stale_entry = true;
	devpoll_mark(state, fd);
}

/* --- Descriptors ----------------------------------------------------------------- */

static int devpoll_prepare(void *opaque, int fd)
{
	struct devpoll_state *state = opaque;
	int rc = XP_TABLE_RESERVE(&state->dirty, &state->dirty_cap, state->array.len);

	if (rc == 0)
		rc = XP_TABLE_RESERVE(&state->fds, &state->cap,
		                      state->array.attached + 1 + XP_FIRED_MOST);
	if (rc == 0)
		state->array.entries[fd].has_stale_entry = true;
	return rc;
}

static bool devpoll_needs_edge_set(const struct xp_array_entry *entry, uint32_t watch)
{
	(void)entry;
	return watch & XP_WATCH_EDGE;
}

static void devpoll_want(void *opaque, int fd, uint32_t bits)
{
	struct devpoll_state *state = opaque;
	const struct xp_array_entry *entry = &state->array.entries[fd];

	if (entry->has_stale_entry || entry->index != devpoll_device_bits(bits))
		devpoll_mark(state, fd);
}

const struct xp_array_ops xp_devpoll_array = {
	.prepare = devpoll_prepare,
	.needs_set = devpoll_needs_edge_set,
	.want = devpoll_want,
};

int xp_devpoll_attach(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct devpoll_state *state = opaque;
	int rc = xp_array_attach(opaque, fd, watch, token);

	/*
	 * EEXIST: fd is attached.  It may have been closed and reused for the same file, and the
	 * device may have the entry of the closed one: remove and add the descriptor.
	 */
	if (rc == -EEXIST) {
		state->array.entries[fd].has_stale_entry = true;
		devpoll_mark(state, fd);
	}
	return rc;
}
