/* Descriptors and their polls. */
#include "backend/ringmap.h"

#ifdef XP_HAVE_POLLRING

#include <errno.h>

#include "base/assert.h"
#include "os/fdkind.h"
#include "os/sys.h"

int xp_ringmap_open(struct xp_ringmap *ring, struct xp_edge *edge,
                    struct xp_counters *counters)
{
	int rc = xp_mutex_init(&ring->lock);

	if (rc < 0)
		return rc;
	ring->edge = edge;
	rc = xp_pollring_open(&ring->polls, counters);
	if (rc < 0)
		xp_mutex_fini(&ring->lock);
	return rc;
}

void xp_ringmap_close(struct xp_ringmap *ring)
{
	/* A thread of a parent's may have the lock. */
	if (xp_pollring_close(&ring->polls))
		xp_mutex_fini(&ring->lock);
	xp_fdmap_fini(&ring->map);
}

/* What cancelled polls say last is not to make the ring readable. */
static void ringmap_skim(struct xp_ringmap *ring)
{
	struct xp_pollring_report report;

	while (xp_pollring_peek(&ring->polls, &report)) {
		const struct xp_fdmap_entry *entry =
			xp_fdmap_find(&ring->map, report.fd);

		if (entry && (uint32_t)entry->index == report.arming)
			return;
		xp_pollring_taken(&ring->polls);
	}
}

static enum xp_fdmap_place ringmap_choose(const struct xp_fdmap_entry *entry,
                                         uint32_t watch)
{
	/* A poll for POLLPRI is not woken by a socket's. */
	if (!entry->fixed &&
	    (!(watch & XP_WATCH_EDGE) || watch & POLLPRI ||
	     !xp_kind_can_look((enum xp_fd_kind)entry->kind)))
		return XP_PLACE_EDGE;
	if (!(watch & XP_WATCH_BITS))
		return XP_PLACE_IDLE;
	return watch & XP_WATCH_EDGE ? XP_PLACE_RING : XP_PLACE_STATE;
}

/* Leave the place it has.  Its reports are none any more, from now on. */
static void ringmap_unplace(struct xp_ringmap *ring, int fd,
                         struct xp_fdmap_entry *entry)
{
	if (entry->place == XP_PLACE_EDGE)
		xp_edge_detach(ring->edge, fd);
	if (entry->index && xp_pollring_reserve(&ring->polls) == 0) {
		xp_pollring_cancel(&ring->polls, fd, (uint32_t)entry->index);
		(void)xp_pollring_submit(&ring->polls);
	}
	entry->index = 0;
	entry->told = false;
	entry->place = XP_PLACE_IDLE;
}

/* First where it may fail, so that it is always somewhere. */
static int ringmap_place(struct xp_ringmap *ring, int fd,
                      struct xp_fdmap_entry *entry, uint32_t watch)
{
	enum xp_fdmap_place place = ringmap_choose(entry, watch);
	uint32_t arming = 0;
	int rc = 0;

	if (place == XP_PLACE_EDGE && entry->place == XP_PLACE_EDGE)
		return xp_edge_change(ring->edge, fd, watch, entry->token);
	if (place == XP_PLACE_EDGE) {
		rc = xp_edge_attach(ring->edge, fd, watch, entry->token);
	} else if (place != XP_PLACE_IDLE) {
		rc = xp_pollring_reserve(&ring->polls);
		if (rc == 0) {
			arming = xp_pollring_arm(&ring->polls, fd,
			                         watch & XP_WATCH_BITS);
			rc = xp_pollring_submit_last(&ring->polls);
		}
	}
	if (rc < 0)
		return rc;
	ringmap_unplace(ring, fd, entry);
	entry->index = (int32_t)arming;
	entry->place = (uint8_t)place;
	entry->watch = (uint16_t)(watch & XP_WATCH_BITS);
	ringmap_skim(ring);
	return 0;
}

int xp_ringmap_attach(struct xp_ringmap *ring, int fd, uint32_t watch,
                      uint64_t token)
{
	enum xp_fd_kind kind = XP_WATCH_KIND_OF(watch);
	int admitted;
	int rc;

	if (xp_fdmap_find(&ring->map, fd))
		return -EEXIST;
	XP_ASSERT(kind != XP_KIND_UNKNOWN);
	admitted = xp_edge_admit(ring->edge, fd);
	if (admitted < 0)
		return admitted;
	xp_mutex_lock(&ring->lock);
	rc = xp_fdmap_reserve(&ring->map, fd);
	if (rc == 0) {
		struct xp_fdmap_entry *entry = &ring->map.entries[fd];

		entry->token = token;
		entry->fixed = admitted > 0 || kind == XP_KIND_NEWS;
		entry->kind = kind & 15;
		rc = ringmap_place(ring, fd, entry, watch);
	}
	xp_mutex_unlock(&ring->lock);
	return rc;
}

/* Where it is, NULL: not attached; *rc: -EBADF, -ENOENT or 0. */
static struct xp_fdmap_entry *ringmap_find(struct xp_ringmap *ring, int fd,
                                          int *rc)
{
	struct xp_fdmap_entry *entry = xp_fdmap_find(&ring->map, fd);
	int flags = xp_sys_open_flags(fd);

	xp_count(&ring->polls.counters->syscalls_check);
	*rc = flags < 0 ? flags : entry ? 0 : -ENOENT;
	return entry;
}

int xp_ringmap_change(struct xp_ringmap *ring, int fd, uint32_t watch,
                      uint64_t token)
{
	int rc;
	struct xp_fdmap_entry *entry = ringmap_find(ring, fd, &rc);

	if (rc < 0)
		return rc;
	xp_mutex_lock(&ring->lock);
	entry->token = token;
	rc = ringmap_place(ring, fd, entry, watch);
	xp_mutex_unlock(&ring->lock);
	return rc;
}

int xp_ringmap_detach(struct xp_ringmap *ring, int fd)
{
	int rc;
	struct xp_fdmap_entry *entry = ringmap_find(ring, fd, &rc);

	if (!entry)
		return rc;
	xp_mutex_lock(&ring->lock);
	ringmap_unplace(ring, fd, entry);
	entry->place = XP_PLACE_NONE;
	ringmap_skim(ring);
	xp_mutex_unlock(&ring->lock);
	return rc;
}

/*
 * A terminal that was hung up wakes nobody any more, so each poll of it ends with its
 * first report, which is the same each time.
 */
static bool ringmap_is_over(const struct xp_fdmap_entry *entry,
                            const struct xp_pollring_report *report)
{
	return report->events > 0 && report->events & POLLHUP &&
		(entry->kind == XP_KIND_TTY || entry->kind == XP_KIND_OTHER);
}

/* The same poll once more; there is room for it. */
static void ringmap_rearm(struct xp_ringmap *ring, int fd,
                          struct xp_fdmap_entry *entry)
{
	entry->index = (int32_t)xp_pollring_arm(&ring->polls, fd, entry->watch);
}

/* Of a state: the next waits look whether it lasts. */
static int ringmap_report_state(struct xp_ringmap *ring,
                                struct xp_fdmap_entry *entry,
                                const struct xp_pollring_report *report,
                                struct xp_fired *fired)
{
	if (report->events <= 0 && report->events != -EBADF) {
		ringmap_rearm(ring, report->fd, entry);
		return 0;
	}
	if (report->ended)
		entry->index = 0;
	entry->told = true;
	ring->owes = true;
	fired->token = entry->token;
	fired->events = report->events > 0 ? (uint32_t)report->events : POLLNVAL;
	return 1;
}

/* 1 if it is to be told, 0 if not. */
static int ringmap_report(struct xp_ringmap *ring,
                         const struct xp_pollring_report *report,
                         struct xp_fired *fired)
{
	struct xp_fdmap_entry *entry = xp_fdmap_find(&ring->map, report->fd);

	if (!entry || (uint32_t)entry->index != report->arming)
		return 0;
	/* What has nobody to wake is as it is. */
	if (report->events == -EINVAL) {
		entry->index = 0;
		return 0;
	}
	if (entry->place == XP_PLACE_STATE)
		return ringmap_report_state(ring, entry, report, fired);
	/* Of a closed number there is no other; the look finds that out. */
	if (report->ended && report->events != -EBADF &&
	    !ringmap_is_over(entry, report)) {
		ringmap_rearm(ring, report->fd, entry);
		/* If it is ready, that one tells. */
		if (report->events <= 0)
			return 0;
	}
	fired->token = entry->token;
	fired->events = report->events > 0 ? (uint32_t)report->events : entry->watch;
	if (!entry->fixed)
		fired->events |= XP_FIRED_HINT;
	return 1;
}

/* 1 if it is ready; else its poll tells when it is, which may have to begin. */
static int ringmap_look(struct xp_ringmap *ring, int fd,
                        struct xp_fdmap_entry *entry, struct xp_fired *fired)
{
	struct pollfd look = {.fd = fd, .events = (short)entry->watch};

	xp_count_shared(&ring->polls.counters->syscalls_check);
	if (xp_sys_poll_now(&look, 1) != 0) {
		fired->token = entry->token;
		fired->events = look.revents ? (unsigned short)look.revents
			: entry->watch;
		return 1;
	}
	if (!entry->index) {
		if (xp_pollring_reserve(&ring->polls) < 0)
			return 0;
		ringmap_rearm(ring, fd, entry);
	}
	entry->told = false;
	return 0;
}

/* The states that were told, round from where the last one stopped. */
static int ringmap_look_at_states(struct xp_ringmap *ring,
                                  struct xp_fired *fired, int cap)
{
	int count = 0;
	int len = ring->map.len;

	if (!ring->owes || cap == 0)
		return 0;
	ring->owes = false;
	for (int steps = 0; steps < len; steps++) {
		int fd = ring->look_at < len ? ring->look_at : 0;
		struct xp_fdmap_entry *entry = &ring->map.entries[fd];
		bool room = count < cap;

		if (entry->told && room)
			count += ringmap_look(ring, fd, entry, &fired[count]);
		if (entry->told)
			ring->owes = true;
		if (room)
			ring->look_at = fd + 1;
	}
	return count;
}

bool xp_ringmap_owes(struct xp_ringmap *ring)
{
	return atomic_load(&ring->owes);
}

int xp_ringmap_harvest(struct xp_ringmap *ring, struct xp_fired *fired, int cap)
{
	struct xp_pollring_report report;
	int count;

	xp_mutex_lock(&ring->lock);
	/* States must not take all the room from what is told by the ring. */
	count = ringmap_look_at_states(ring, fired, cap / 2);
	while (count < cap && xp_pollring_reserve(&ring->polls) == 0 &&
	       xp_pollring_peek(&ring->polls, &report)) {
		xp_pollring_taken(&ring->polls);
		count += ringmap_report(ring, &report, &fired[count]);
	}
	(void)xp_pollring_submit(&ring->polls);
	xp_mutex_unlock(&ring->lock);
	return count;
}

bool xp_ringmap_behind(struct xp_ringmap *ring)
{
	bool behind;

	xp_mutex_lock(&ring->lock);
	behind = ring->polls.ring.filled > 0;
	xp_mutex_unlock(&ring->lock);
	return behind;
}

#endif
