/*
 * The set of edges (edge.h) by epoll(7).  Solaris and some sandboxes have no epoll: there `fd` is
 * -1, which poll(2) ignores in its array, and edge-triggered registrations fail with ENOTSUP.
 */
#include "posix/edge.h"

#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/table.h"
#include "posix/solo.h"
#include "posix/sys_epoll.h"
#include "sys/fdkind.h"
#include "sys/sys.h"

#ifndef O_PATH
#define O_PATH 0
#endif

/*
 * The state of the set.  Each edge-triggered filter has its own entry, so that a change or an
 * activity of one filter does not make the kernel report another one: READ in the main set, the
 * others in solo sets (solo.h) inside the main set.  A level-triggered descriptor has one entry, in
 * the main set, because one report must have all of its bits, like one of poll(2).
 */
struct edge_sets {
	struct xp_solo solo;
	/* indexed by descriptor */
	struct edge_entries {
		/* requested bits of the descriptor's entry in each set; 0: none */
		uint16_t bits[XP_SOLO_SETS];
		/*
		 * one level-triggered entry in the main set replaces the edge-triggered entries of
		 * the descriptor
		 */
		bool level;
	} *entries;
	int len;
};

int xp_edge_init(struct xp_edge *edge, struct xp_counters *counters)
{
	struct edge_sets *sets = xp_zalloc(sizeof *sets);
	struct epoll_event event;
	int rc;

	edge->counters = counters;
	edge->private_state = sets;
	if (!sets)
		return -ENOMEM;
	*sets = (struct edge_sets){.len = 0};
	xp_solo_init(&sets->solo, counters);
	edge->fd = xp_sys_epoll_create();
	if (edge->fd == -ENOTSUP) {
		edge->fd = -1;
		return 0;
	}
	rc = edge->fd < 0 ? edge->fd : 0;
	for (int i = 1; rc == 0 && i < XP_SOLO_SETS; i++)
		rc = xp_solo_open(&sets->solo, edge->fd, i);
	if (rc == 0)
		rc = xp_sys_epoll_now(edge->fd, &event, 1);
	if (rc == 0)
		return 0;
	xp_solo_fini(&sets->solo);
	xp_solo_init(&sets->solo, counters);
	if (edge->fd >= 0)
		xp_sys_close(edge->fd);
	edge->fd = -1;
	/*
	 * A sandbox refuses one of the calls: continue without the set, and refuse edge-triggered
	 * watches.
	 */
	if (rc == -ENOSYS || rc == -EPERM || rc == -EACCES)
		return 0;
	xp_free(sets);
	return rc;
}

void xp_edge_fini(struct xp_edge *edge)
{
	struct edge_sets *sets = edge->private_state;

	xp_solo_fini(&sets->solo);
	if (edge->fd >= 0)
		xp_sys_close(edge->fd);
	xp_free(sets->entries);
	xp_free(sets);
}

bool xp_edge_owns(const struct xp_edge *edge, int fd)
{
	const struct edge_sets *sets = edge->private_state;

	return fd >= 0 && (fd == edge->fd || xp_solo_owns(&sets->solo, fd));
}

int xp_edge_renew(struct xp_edge *edge)
{
	struct edge_sets *sets = edge->private_state;
	int fresh = xp_sys_epoll_create();
	int rc = fresh < 0 ? fresh : xp_sys_move_fd(fresh, edge->fd);

	if (rc < 0)
		return rc;
	for (int fd = 0; fd < sets->len; fd++)
		sets->entries[fd] = (struct edge_entries){.level = false};
	xp_solo_renew(&sets->solo, edge->fd);
	return 0;
}

/*
 * Returns the bits of a watch that belong into the entry of this filter; 0: there is no such entry.
 */
static uint32_t entry_bits(unsigned filter, uint32_t watch)
{
	static const uint32_t bits[XP_SOLO_SETS] = {
		POLLIN | POLLRDHUP, POLLOUT, POLLPRI,
	};

	XP_ASSERT(filter < XP_SOLO_SETS);
	if (watch & XP_WATCH_EDGE)
		return watch & bits[filter];
	return filter == 0 ? watch & XP_WATCH_BITS : 0;
}

/* Add, modify or delete (op) a descriptor's entry for one filter. */
static int edge_control(struct xp_edge *edge, int op, unsigned filter, int fd,
                        uint32_t watch, uint64_t token)
{
	struct edge_sets *sets = edge->private_state;
	uint32_t bits = entry_bits(filter, watch);
	uint32_t by_edge = watch & XP_WATCH_EDGE;

	if (filter == 0) {
		xp_count(&edge->counters->syscalls_change);
		return xp_sys_epoll_ctl(edge->fd, op, fd, bits | (by_edge ? EPOLLET : 0), token);
	}
	if (op == EPOLL_CTL_ADD)
		return xp_solo_attach(&sets->solo, edge->fd, fd,
		                      bits | by_edge | XP_WATCH_SOLO(filter), token);
	return xp_solo_change(&sets->solo, fd, bits | by_edge | XP_WATCH_SOLO(filter), token);
}

/*
 * Add, modify and delete entries of a descriptor until they are those of this watch.  An entry that
 * stays is modified only if the kernel has to check it again or its bits change.
 */
static int edge_update_entries(struct xp_edge *edge, int fd, uint32_t watch, uint64_t token)
{
	struct edge_sets *sets = edge->private_state;
	struct edge_entries *entries = &sets->entries[fd];
	unsigned again = XP_WATCH_AGAIN_OF(watch);
	bool level = !(watch & XP_WATCH_EDGE);

	XP_ASSERT(fd >= 0 && fd < sets->len);
	if (edge->fd < 0)
		return watch & XP_WATCH_BITS ? -ENOTSUP : 0;
	if (level != entries->level)
		again = ~0u;
	for (unsigned i = 0; i < XP_SOLO_SETS; i++) {
		uint16_t bits = (uint16_t)entry_bits(i, watch), before = entries->bits[i];
		int rc = 0;

		if (bits && !before) {
			rc = edge_control(edge, EPOLL_CTL_ADD, i, fd, watch, token);
			/*
			 * EEXIST: a duplicate of a closed file has kept the set's entry for this
			 * descriptor: modify that entry.
			 */
			if (rc == -EEXIST)
				rc = edge_control(edge, EPOLL_CTL_MOD, i, fd, watch, token);
		} else if (bits && (bits != before || again >> i & 1)) {
			rc = edge_control(edge, EPOLL_CTL_MOD, i, fd, watch, token);
		} else if (before && !bits) {
			/*
			 * Ignore the error of a closed descriptor, whose entry cannot be deleted
			 * any more.
			 */
			(void)edge_control(edge, EPOLL_CTL_DEL, i, fd, 0, 0);
		}
		if (rc < 0)
			return rc;
		entries->bits[i] = bits;
	}
	entries->level = level;
	return 0;
}

int xp_edge_attach(struct xp_edge *edge, int fd, uint32_t watch, uint64_t token)
{
	struct edge_sets *sets = edge->private_state;
	int rc = XP_TABLE_RESERVE(&sets->entries, &sets->len, fd + 1);

	if (rc < 0)
		return rc;
	sets->entries[fd] = (struct edge_entries){.level = false};
	rc = edge_update_entries(edge, fd, watch, token);
	if (rc < 0)
		xp_edge_detach(edge, fd);
	return rc;
}

int xp_edge_change(struct xp_edge *edge, int fd, uint32_t watch, uint64_t token)
{
	return edge_update_entries(edge, fd, watch, token);
}

void xp_edge_detach(struct xp_edge *edge, int fd)
{
	(void)edge_update_entries(edge, fd, XP_WATCH_EDGE, 0);
}

/*
 * Returns the flag by which the queue knows the filters that a report of the main set is about.
 * An edge-triggered entry of that set is for READ only: XP_WATCH_SOLO of READ, which is filter 0.
 * A level-triggered entry is for all filters: no flag, 0.
 */
static uint32_t edge_solo_flag(const struct edge_sets *sets, uint64_t token)
{
	int fd = (int)(uint32_t)token;
	bool level = fd >= 0 && fd < sets->len && sets->entries[fd].level;

	return level ? 0 : XP_WATCH_SOLO(0);
}

/*
 * Store reports of the main set and of the sets in it, which have the entries of other filters
 * (solo.h).  Returns their number, and in *more whether the main set may have more.
 */
static int edge_take_reports(struct xp_edge *edge, struct xp_fired *fired, int cap, bool *more)
{
	struct edge_sets *sets = edge->private_state;
	struct epoll_event events[XP_FIRED_MOST];
	int count = xp_sys_epoll_now(edge->fd, events, cap);

	XP_ASSERT(cap > 0 && cap <= XP_FIRED_MOST);
	xp_count_shared(&edge->counters->syscalls_check);
	for (int i = 0; i < count; i++) {
		fired[i].token = events[i].data.u64;
		fired[i].events = events[i].events | edge_solo_flag(sets, fired[i].token);
	}
	*more = count == cap;
	return count > 0 ? xp_solo_expand(&sets->solo, fired, count, cap) : 0;
}

int xp_edge_harvest(struct xp_edge *edge, struct xp_fired *fired, int cap)
{
	struct edge_sets *sets = edge->private_state;
	int count = xp_solo_take_unread(&sets->solo, fired, cap);
	bool more = true;

	while (more && count < cap)
		count += edge_take_reports(edge, fired + count, cap - count, &more);
	for (int i = 0; i < count; i++) {
		/*
		 * The set keeps reporting a closed file while a duplicate of it is open: if the
		 * descriptor is closed, report POLLNVAL.
		 */
		xp_count_shared(&edge->counters->syscalls_check);
		if (xp_sys_open_flags((int)(uint32_t)fired[i].token) < 0)
			fired[i].events = POLLNVAL;
	}
	return count;
}

/*
 * For xp_edge_check_file: returns 1 if poll(2) clears the condition that it reports about the file,
 * and stores the bits that the poll(2) here has cleared; otherwise 0; -EBADF, -ENOMEM, -ENOTSUP.
 */
static int edge_poll_clears(struct xp_edge *edge, int fd, uint32_t watch, const struct stat *status,
                            uint32_t *cleared)
{
	struct pollfd probe = {.fd = fd, .events = POLLIN | POLLOUT | POLLPRI};
	int kind = xp_fd_kind(fd);

	xp_count_by(&edge->counters->syscalls_check, 2);
	if (kind != XP_KIND_CLEARED)
		return kind < 0 ? kind : 0;
	if (watch & XP_WATCH_EDGE)
		return -ENOTSUP;
	if (!S_ISREG(status->st_mode))
		/*
		 * This is a performance counter.  Files of /proc go on: xp_edge_check_file adds
		 * them to the set as a test, and the kernel polls an added file, which clears its
		 * bits.  So the bits are polled and stored here before.
		 */
		return 1;
	xp_count(&edge->counters->syscalls_check);
	if (xp_sys_poll_now(&probe, 1) > 0)
		*cleared = (unsigned short)probe.revents;
	return 1;
}

int xp_edge_check_file(struct xp_edge *edge, int fd, uint32_t watch, struct stat *status,
                       uint32_t *bits)
{
	int rc = xp_sys_open_flags(fd);
	int kind = 0;

	*bits = 0;
	xp_count(&edge->counters->syscalls_check);
	if (rc < 0)
		return rc;
	if (rc & O_PATH)
		return -ENOTSUP;
	rc = xp_sys_fstat(fd, status);
	if (rc < 0)
		return rc;
	if (S_ISREG(status->st_mode) || !(status->st_mode & S_IFMT))
		kind = edge_poll_clears(edge, fd, watch, status, bits);
	if (kind < 0 || (!S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode) &&
	                 !S_ISCHR(status->st_mode) && !S_ISBLK(status->st_mode)))
		return kind;

	if (edge->fd < 0 && kind == 0)
		return S_ISREG(status->st_mode) || S_ISDIR(status->st_mode) ? -EPERM : 0;
	if (edge->fd < 0)
		return kind;
	/*
	 * Some devices and files of /proc can be polled, others cannot: the kernel refuses to add
	 * the others to an epoll set.  So add the file, and delete it again.
	 */
	rc = edge_control(edge, EPOLL_CTL_ADD, 0, fd, 0, 0);
	if (rc < 0 && rc != -EEXIST)
		return rc;
	(void)edge_control(edge, EPOLL_CTL_DEL, 0, fd, 0, 0);
	return kind;
}
