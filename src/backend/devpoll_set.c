/* The descriptors of the /dev/poll back end, and what is written to the device. */
#include "backend/devpoll_set.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "os/sunos/sys_devpoll.h"
#include "os/sys.h"

enum {
	DEVPOLL_RECORDS = 2,     /* written for one number, at most */
	DEVPOLL_THERE = 0x10000, /* in the device's set; ORed to its bits there */
};

int xp_dp_set_init(struct xp_dp_set *set, struct xp_edge *edge, int reserve,
                   struct xp_counters *counters)
{
	set->edge = edge;
	set->counters = counters;
	set->reserve = reserve;
	set->cap = reserve;
	set->fds = xp_alloc((size_t)reserve * sizeof *set->fds);
	return set->fds ? 0 : -ENOMEM;
}

void xp_dp_set_fini(struct xp_dp_set *set)
{
	xp_fdmap_fini(&set->map);
	xp_free(set->dirty);
	xp_free(set->fds);
}

static int devpoll_reserve(struct xp_dp_set *set, int fd)
{
	int cap = set->attached + 1 + set->reserve;
	void *grown;
	int rc = xp_fdmap_reserve(&set->map, fd);

	if (rc < 0)
		return rc;
	if (set->dirty_cap < set->map.len) {
		grown = xp_realloc(set->dirty, (size_t)set->map.len *
		                   sizeof *set->dirty);
		if (!grown)
			return -ENOMEM;
		set->dirty = grown;
		set->dirty_cap = set->map.len;
	}
	if (set->cap < cap) {
		cap *= 2;
		grown = xp_realloc(set->fds, (size_t)cap * sizeof *set->fds);
		if (!grown)
			return -ENOMEM;
		set->fds = grown;
		set->cap = cap;
	}
	return 0;
}

/* --- What is written to the device ------------------------------------------------- */

static void devpoll_mark(struct xp_dp_set *set, int fd)
{
	struct xp_fdmap_entry *entry = &set->map.entries[fd];

	if (entry->dirty)
		return;
	XP_ASSERT(set->dirty_len < set->dirty_cap);
	entry->dirty = true;
	set->dirty[set->dirty_len++] = fd;
}

/* What the device is to have of it. */
static int32_t devpoll_wanted(const struct xp_fdmap_entry *entry)
{
	return entry->place == XP_PLACE_ARRAY
		? DEVPOLL_THERE | xp_sys_devpoll_bits(entry->watch) : 0;
}

static int devpoll_record(const struct xp_fdmap_entry *entry, int fd,
                          struct pollfd *records)
{
	int32_t has = entry->index;
	int32_t wanted = devpoll_wanted(entry);
	int len = 0;

	if (has == wanted && !entry->as_new)
		return 0;
	if (has && (entry->as_new || has & ~wanted))
		records[len++] = (struct pollfd){.fd = fd, .events = POLLREMOVE};
	if (wanted)
		records[len++] = (struct pollfd){
			.fd = fd,
			.events = (short)(wanted & ~DEVPOLL_THERE),
		};
	return len;
}

/* The records of the numbers from `from` on were written. */
static void devpoll_written(struct xp_dp_set *set, int from)
{
	while (set->dirty_len > from) {
		struct xp_fdmap_entry *entry =
			&set->map.entries[set->dirty[--set->dirty_len]];

		entry->index = devpoll_wanted(entry);
		entry->dirty = false;
		entry->as_new = false;
	}
}

/*
 * Write what has changed: all at once, unless that is more than the limit of
 * descriptors allows.
 */
int xp_dp_write(struct xp_dp_set *set)
{
	int most = set->cap;

	while (set->dirty_len > 0) {
		int from = set->dirty_len;
		int len = 0;
		int rc = 0;

		while (from > 0 && len + DEVPOLL_RECORDS <= most) {
			int fd = set->dirty[--from];

			len += devpoll_record(&set->map.entries[fd], fd,
			                      &set->fds[len]);
		}
		if (len > 0) {
			xp_count_shared(&set->counters->syscalls_change);
			rc = xp_sys_devpoll_write(set->device, set->fds, len);
		}
		if (rc == 0)
			devpoll_written(set, from);
		else if (rc == -EINVAL && len > DEVPOLL_RECORDS)
			most = len / 2 < DEVPOLL_RECORDS ? DEVPOLL_RECORDS : len / 2;
		else
			return rc;
	}
	return 0;
}

void xp_dp_mend(struct xp_dp_set *set, int fd)
{
	struct xp_fdmap_entry *entry = &set->map.entries[fd];

	XP_ASSERT(fd >= 0 && fd < set->map.len);
	/* Written while it was closed, it cannot have been removed. */
	entry->index = DEVPOLL_THERE;
	entry->as_new = true;
	devpoll_mark(set, fd);
}

/* --- Changes ----------------------------------------------------------------- */

static enum xp_fdmap_place devpoll_place(uint32_t watch)
{
	if (watch & XP_WATCH_EDGE)
		return XP_PLACE_EDGE;
	return watch & XP_WATCH_BITS ? XP_PLACE_ARRAY : XP_PLACE_IDLE;
}

static void devpoll_put(struct xp_dp_set *set, int fd, uint32_t watch,
                        uint64_t token)
{
	struct xp_fdmap_entry *entry = &set->map.entries[fd];

	entry->token = token;
	entry->watch = (uint16_t)(watch & XP_WATCH_BITS);
	entry->place = devpoll_place(watch);
	if (entry->as_new || entry->index != devpoll_wanted(entry))
		devpoll_mark(set, fd);
}

static void devpoll_remove(struct xp_dp_set *set, int fd,
                           struct xp_fdmap_entry *entry)
{
	if (entry->place == XP_PLACE_EDGE)
		xp_edge_detach(set->edge, fd);
	entry->place = XP_PLACE_NONE;
	if (entry->index)
		devpoll_mark(set, fd);
	XP_ASSERT(set->attached > 0);
	set->attached--;
}

int xp_dp_attach(struct xp_dp_set *set, int fd, uint32_t watch, uint64_t token)
{
	struct xp_fdmap_entry *entry = xp_fdmap_find(&set->map, fd);
	int rc = entry ? xp_fdmap_confirm(&set->map, fd, set->counters) : -ENOENT;

	if (rc == 0) {
		/* Another file, perhaps: then the device knows the old one. */
		entry->as_new = true;
		devpoll_mark(set, fd);
		return -EEXIST;
	}
	if (rc != -ENOENT)
		return rc;
	if (entry)
		devpoll_remove(set, fd, entry);
	rc = xp_fdmap_admit(&set->map, set->edge, fd, token);
	if (rc == 0)
		rc = devpoll_reserve(set, fd);
	if (rc == 0 && watch & XP_WATCH_EDGE)
		rc = xp_edge_attach(set->edge, fd, watch, token);
	if (rc < 0)
		return rc;
	set->map.entries[fd].as_new = true;
	devpoll_put(set, fd, watch, token);
	set->attached++;
	return 0;
}

int xp_dp_change(struct xp_dp_set *set, int fd, uint32_t watch, uint64_t token)
{
	struct xp_fdmap_entry *entry = xp_fdmap_find(&set->map, fd);
	int rc = 0;

	if (!entry)
		return -ENOENT;
	if (watch & XP_WATCH_EDGE)
		rc = entry->place == XP_PLACE_EDGE
			? xp_edge_change(set->edge, fd, watch, token)
			: xp_edge_attach(set->edge, fd, watch, token);
	else if (entry->place == XP_PLACE_EDGE)
		xp_edge_detach(set->edge, fd);
	if (rc < 0)
		return rc;
	devpoll_put(set, fd, watch, token);
	return 0;
}

int xp_dp_detach(struct xp_dp_set *set, int fd)
{
	int rc = xp_fdmap_confirm(&set->map, fd, set->counters);
	struct xp_fdmap_entry *entry = xp_fdmap_find(&set->map, fd);

	if (entry)
		devpoll_remove(set, fd, entry);
	return rc;
}
