/*
 * Common to the array back ends (poll, select, /dev/poll): the table of attached descriptors, and
 * the descriptors of the back end itself.
 */
#include "posix/array.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/table.h"
#include "sys/sys.h"

int xp_array_open(struct xp_array *array, const struct xp_array_ops *ops,
                  struct xp_counters *counters)
{
	int rc;

	array->ops = ops;
	array->counters = counters;
	rc = xp_wakefd_open(&array->wake);
	if (rc < 0)
		return rc;
	rc = xp_edge_init(&array->edge, counters);
	if (rc < 0) {
		xp_wakefd_close(&array->wake);
		return rc;
	}
	rc = xp_marks_open(&array->marks);
	if (rc < 0)
		xp_array_close(array);
	return rc;
}

void xp_array_close(struct xp_array *array)
{
	xp_wakefd_close(&array->wake);
	xp_edge_fini(&array->edge);
	xp_marks_close(&array->marks);
	xp_free(array->entries);
}

bool xp_array_owns(const void *opaque, int fd)
{
	const struct xp_array *array = opaque;

	return xp_wakefd_has(&array->wake, fd) || xp_edge_owns(&array->edge, fd) ||
		xp_marks_own(&array->marks, fd);
}

void xp_array_wake(void *opaque)
{
	struct xp_array *array = opaque;

	xp_count_shared(&array->counters->syscalls_wake);
	xp_wakefd_signal(&array->wake);
}

/* --- Descriptors --------------------------------------------------------------- */

bool xp_array_needs_set(const struct xp_array_entry *entry, uint32_t watch)
{
	(void)entry;
	return watch & XP_WATCH_EDGE || xp_pollbits_unreportable(watch);
}

/*
 * Returns a hash of device and inode that identifies the file.  Two files of one device never have
 * the same hash, and files of different devices hardly ever.  Most anonymous files of Linux
 * (eventfd, timerfd, epoll) share one inode, so a descriptor that is reused for another of these is
 * not noticed.
 */
static uint64_t array_file_hash(const struct stat *status)
{
	return (uint64_t)status->st_ino * UINT64_C(0x9e3779b97f4a7c15) ^
		(uint64_t)status->st_dev * UINT64_C(0xc2b2ae3d27d4eb4f);
}

/*
 * Check that fd still refers to the file of this entry (NULL: fd is not attached): by fstat(2), and
 * by a mark (sys/marks.h) if fstat(2) shows no identity.  Returns 0; -ENOENT: not attached, or
 * another file; -EBADF.
 */
static int array_verify_file(struct xp_array *array, const struct xp_array_entry *entry,
                             int fd)
{
	struct stat status;
	int rc = xp_sys_fstat(fd, &status);

	xp_count(&array->counters->syscalls_check);
	if (rc < 0)
		return rc;
	if (!entry || array_file_hash(&status) != entry->file_hash)
		return -ENOENT;
	if (!xp_stat_lacks_identity(&status))
		return 0;
	xp_count(&array->counters->syscalls_check);
	return xp_marks_have(&array->marks, fd) ? 0 : -ENOENT;
}

/*
 * Watch a descriptor in the array or, if the watch needs it, in the set of edges (edge.h); without
 * bits, in neither.  On an error the table's entry stays as it was.  An edge-triggered watch
 * without bits is not in the set, so a later change adds the entry and may allocate memory; the
 * queue makes no such change in a wait.
 */
static int array_watch_in(struct xp_array *array, int fd, uint32_t watch, uint64_t token)
{
	struct xp_array_entry *entry = &array->entries[fd];
	uint32_t bits = watch & XP_WATCH_BITS;
	bool before = entry->watched_in == XP_PLACE_EDGE;
	bool after = bits && array->ops->needs_set(entry, watch);
	int rc = 0;

	XP_ASSERT(fd < array->len);
	/*
	 * Refuse a file whose bits a poll clears.  A poll of the edge set's descriptor polls the
	 * file, too: that would clear the bits, and the set would have no report to read.
	 */
	if (after && entry->is_cleared_by_poll)
		return -ENOTSUP;
	if (after)
		rc = before ? xp_edge_change(&array->edge, fd, watch, token)
			: xp_edge_attach(&array->edge, fd, watch, token);
	else if (before)
		xp_edge_detach(&array->edge, fd);
	if (rc < 0)
		return rc;
	array->ops->want(array, fd, after ? 0 : bits);
	entry->watched_in = after ? XP_PLACE_EDGE : bits ? XP_PLACE_ARRAY : XP_PLACE_IDLE;
	entry->requested = (uint16_t)bits;
	entry->token = token;
	return 0;
}

static void array_remove(struct xp_array *array, struct xp_array_entry *entry, int fd)
{
	if (entry->watched_in == XP_PLACE_EDGE)
		xp_edge_detach(&array->edge, fd);
	array->ops->want(array, fd, 0);
	entry->watched_in = XP_PLACE_NONE;
	if (entry->file_hash == 0)
		xp_marks_remove(&array->marks, fd);
	XP_ASSERT(array->attached > 0);
	array->attached--;
}

int xp_array_attach(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct xp_array *array = opaque;
	struct xp_array_entry *entry = xp_array_find(array, fd);
	int rc = entry ? array_verify_file(array, entry, fd) : -ENOENT;
	struct stat status;
	uint32_t cleared;
	bool consumed;

	if (rc != -ENOENT)
		return rc < 0 ? rc : -EEXIST;
	if (entry)
		array_remove(array, entry, fd);
	rc = xp_edge_check_file(&array->edge, fd, watch, &status, &cleared);
	consumed = rc > 0;
	if (rc >= 0)
		rc = XP_TABLE_RESERVE(&array->entries, &array->len, fd + 1);
	if (rc == 0 && xp_stat_lacks_identity(&status))
		rc = xp_marks_add(&array->marks, fd);
	if (rc < 0)
		return rc;
	entry = &array->entries[fd];
	entry->socket = S_ISSOCK(status.st_mode) != 0;
	entry->file_hash = array_file_hash(&status);
	entry->fifo = S_ISFIFO(status.st_mode) != 0;
	entry->is_cleared_by_poll = consumed;
	entry->saved_bits = (uint8_t)cleared;
	rc = array->ops->prepare(array, fd);
	if (rc == 0)
		rc = array_watch_in(array, fd, watch, token);
	array->attached += rc == 0;
	return rc;
}

int xp_array_change(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	return xp_array_find(opaque, fd) ? array_watch_in(opaque, fd, watch, token) : -ENOENT;
}

int xp_array_detach(void *opaque, int fd)
{
	struct xp_array *array = opaque;
	struct xp_array_entry *entry = xp_array_find(array, fd);
	int rc = array_verify_file(array, entry, fd);

	if (entry)
		array_remove(array, entry, fd);
	return rc;
}

/* --- Reports ------------------------------------------------------------------- */

void xp_array_fill_own(const struct xp_array *array, struct pollfd *fds)
{
	fds[XP_OWN_WAKE] = (struct pollfd){.fd = array->wake.fd, .events = POLLIN};
	fds[XP_OWN_EDGE] = (struct pollfd){.fd = array->edge.fd, .events = POLLIN};
}

int xp_array_report_wake(const struct xp_array *array, const struct pollfd *fds,
                         struct xp_fired *fired)
{
	if (!fds[XP_OWN_WAKE].revents)
		return 0;
	xp_wakefd_clear(&array->wake);
	*fired = (struct xp_fired){.token = XP_TOKEN_WAKE};
	return 1;
}

/*
 * Store up to `room` reports of the set of edge-triggered descriptors (edge.h), and record in
 * edges_left whether the set may have more.  Returns the number of reports.
 */
static int array_harvest_edges(struct xp_array *array, struct xp_fired *fired, int room)
{
	int count = xp_edge_harvest(&array->edge, fired, room);

	array->edges_left = count == room;
	return count;
}

int xp_array_report_edges(struct xp_array *array, const struct pollfd *fds,
                          struct xp_fired *fired, int room)
{
	array->edges_left = fds[XP_OWN_EDGE].revents != 0;
	return array->edges_left && room > 0 ? array_harvest_edges(array, fired, room) : 0;
}

int xp_array_report_rest(struct xp_array *array, struct xp_fired *fired, int room)
{
	int count = 0;

	while (array->edges_left && count < room)
		count += array_harvest_edges(array, fired + count, room - count);
	return count;
}

struct xp_fired xp_array_fired(const struct xp_array *array, int fd, uint32_t bits)
{
	const struct xp_array_entry *entry = &array->entries[fd];

	if (entry->socket && xp_pollbits_rdhup_unknown(entry->requested, bits) &&
	    xp_sys_half_closed(fd))
		bits |= POLLRDHUP;
	return (struct xp_fired){.token = entry->token, .events = bits};
}
