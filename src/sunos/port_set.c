/* The descriptors of the port back end, and their associations. */
#include "sunos/port_state.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/table.h"
#include "sys/sys.h"

int xp_port_set_open(struct xp_port_set *set, struct xp_counters *counters)
{
	int rc = xp_mutex_init(&set->lock);

	if (rc < 0)
		return rc;
	atomic_init(&set->alert, false);
	set->counters = counters;
	set->due_head = -1;
	set->fd = xp_sys_port_create();
	rc = set->fd < 0 ? set->fd : xp_edge_init(&set->edge, counters);
	if (rc == 0)
		return 0;
	if (set->fd >= 0)
		xp_sys_close(set->fd);
	xp_mutex_fini(&set->lock);
	return rc;
}

void xp_port_set_close(struct xp_port_set *set)
{
	xp_edge_fini(&set->edge);
	xp_sys_close(set->fd);
	xp_mutex_fini(&set->lock);
	xp_free(set->objects);
}

struct xp_port_object *xp_port_find(const struct xp_port_set *set, int fd)
{
	if (fd < 0 || fd >= set->len || set->objects[fd].watched_in == XP_PORT_NONE)
		return NULL;
	return &set->objects[fd];
}

/* --- Detecting reused descriptors ---------------------------------------------- */

/*
 * Returns the time that distinguishes a socket from an earlier one with the same inode number; 0:
 * fd is no socket.
 */
static int64_t port_socket_ctime(const struct stat *status)
{
	return S_ISSOCK(status->st_mode) ? (int64_t)status->st_ctime : 0;
}

/* Returns 0 if fd still refers to the attached file; -ENOENT: it was reused; -EBADF. */
static int port_check_file(struct xp_port_set *set, const struct xp_port_object *object, int fd)
{
	struct stat status;
	int rc = xp_sys_fstat(fd, &status);

	xp_count_shared(&set->counters->syscalls_check);
	if (rc < 0)
		return rc;
	return (uint64_t)status.st_dev == object->device &&
		(uint64_t)status.st_ino == object->inode &&
		port_socket_ctime(&status) == object->socket_ctime_s ? 0 : -ENOENT;
}

/*
 * End the association of fd, if there is one.  Returns 0; -ENOENT: the association has ended
 * without an event, because the descriptor was closed.  If threads wait, or one was cancelled, such
 * a thread may have taken the event: returns 0 then.
 */
static int port_release(struct xp_port_set *set, struct xp_port_object *object, int fd)
{
	int rc = 0;

	if (object->watched_in == XP_PORT_IN_PORT && object->armed_bits) {
		xp_count_shared(&set->counters->syscalls_change);
		rc = xp_sys_port_dissociate(set->fd, fd);
		object->armed_bits = 0;
		if (rc == -ENOENT && (set->waiters > 0 || set->events_lost))
			rc = 0;
	}
	return rc;
}

/* --- Associations -------------------------------------------------------------- */

void xp_port_make_due(struct xp_port_set *set, struct xp_port_object *object, int fd)
{
	if (object->due)
		return;
	object->due = true;
	object->next = -1;
	if (set->due_head < 0)
		set->due_head = fd;
	else
		set->objects[set->due_tail].next = fd;
	set->due_tail = fd;
}

/* Associate a descriptor with its requested bits.  Returns 0 or a negative errno value. */
static int port_associate_now(struct xp_port_set *set, struct xp_port_object *object, int fd)
{
	uint32_t cookie = set->last_cookie + 1;
	int rc;

	/* Skip 0, which means: not associated. */
	cookie += cookie == 0;
	xp_count_shared(&set->counters->syscalls_change);
	rc = xp_sys_port_associate(set->fd, fd, object->want, cookie);
	if (rc < 0)
		return rc;
	set->last_cookie = cookie;
	object->cookie = cookie;
	object->armed_bits = object->want;
	object->armed_epoch = set->last_epoch;
	return 0;
}

/*
 * Make all associated descriptors due, that is, have them associated again, because a cancelled
 * thread may have taken their events.
 */
static void port_recover(struct xp_port_set *set)
{
	set->events_lost = false;
	for (int fd = 0; fd < set->len; fd++) {
		struct xp_port_object *object = xp_port_find(set, fd);

		if (object && object->armed_bits) {
			object->armed_bits = 0;
			xp_port_make_due(set, object, fd);
		}
	}
}

int xp_port_associate_due(struct xp_port_set *set, struct xp_fired *fired, int cap, int *count)
{
	if (set->events_lost)
		port_recover(set);
	while (set->due_head >= 0 && *count < cap) {
		int fd = set->due_head;
		struct xp_port_object *object = &set->objects[fd];
		int rc = 0;

		XP_ASSERT(object->due);
		if (object->watched_in == XP_PORT_IN_PORT && object->want & ~object->armed_bits) {
			rc = port_check_file(set, object, fd);
			if (rc == 0)
				rc = port_associate_now(set, object, fd);
		}
		if (rc == -ENOMEM || rc == -ENOSPC)
			return rc;
		set->due_head = object->next;
		object->due = false;
		if (rc < 0)
			fired[(*count)++] = (struct xp_fired){
				.token = object->token, .events = POLLNVAL,
			};
	}
	return 0;
}

/*
 * Set the flag before the alert: a thread that sees the alert turns it off only if the flag is set.
 */
void xp_port_wake_all(struct xp_port_set *set)
{
	atomic_store(&set->alert, true);
	xp_sys_port_alert(set->fd, true);
}

/* --- Changes ------------------------------------------------------------------- */

/* If a descriptor is in the edge set (of epoll), remove it there, so that the port can watch it. */
static void port_leave_edges(struct xp_port_set *set,
                             struct xp_port_object *object, int fd)
{
	if (object->watched_in != XP_PORT_EDGE)
		return;
	xp_edge_detach(&set->edge, fd);
	set->edge_count--;
	XP_ASSERT(set->edge_count >= 0);
	object->watched_in = XP_PORT_IN_PORT;
}

/* Watch a descriptor in the edge set (by epoll), and end its association with the port. */
static int port_watch_edges(struct xp_port_set *set,
                            struct xp_port_object *object, int fd,
                            uint32_t watch)
{
	int rc;

	if (object->watched_in == XP_PORT_EDGE)
		return xp_edge_change(&set->edge, fd, watch, object->token);
	rc = xp_edge_attach(&set->edge, fd, watch, object->token);
	if (rc < 0)
		return rc;
	(void)port_release(set, object, fd);
	object->watched_in = XP_PORT_EDGE;
	object->want = 0;
	/* Wake threads that sleep on the port only: they have to sleep on the edge set as well. */
	if (set->edge_count++ == 0 && set->port_only_waiters > 0)
		xp_port_wake_all(set);
	return 0;
}

/*
 * Record the bits that a watch requests; pass edge-triggered watches, and those of devices, to the
 * edge set at once.  -ENOENT, -EBADF: fd is in the edge set, and was reused or closed.
 */
static int port_watch(struct xp_port_set *set, struct xp_port_object *object,
                      int fd, uint32_t watch)
{
	int rc = 0;

	if (watch & XP_WATCH_EDGE || (object->edge_set_only && watch & XP_WATCH_BITS))
		return port_watch_edges(set, object, fd, watch);
	if (object->watched_in == XP_PORT_EDGE)
		rc = port_check_file(set, object, fd);
	if (rc < 0)
		return rc;
	port_leave_edges(set, object, fd);
	object->watched_in = XP_PORT_IN_PORT;
	object->want = watch & XP_WATCH_BITS;
	return 0;
}

/* Mark a descriptor as not attached.  The kernel's association of it must have ended. */
static void port_forget(struct xp_port_set *set, struct xp_port_object *object)
{
	if (object->watched_in == XP_PORT_EDGE)
		set->edge_count--;
	object->watched_in = XP_PORT_NONE;
	object->armed_bits = 0;
	object->want = 0;
	object->cookie = 0;
}

/*
 * Returns 0 if the port is to watch fd; 1 if the edge set (set->edge, an epoll set) is to watch it,
 * because fd is a device: a port cannot watch an epoll set, and an epoll set looks like a device;
 * or a negative errno value.  Without an edge set, on Solaris, the port watches devices, too.
 */
static int port_choose_set(struct xp_port_set *set, int fd, struct stat *status)
{
	int rc = xp_sys_fstat(fd, status);
	uint32_t cleared;

	xp_count(&set->counters->syscalls_check);
	if (rc < 0)
		return rc;
	if (xp_sys_is_path(fd))
		return -ENOTSUP;
	if (S_ISSOCK(status->st_mode) || S_ISFIFO(status->st_mode))
		return 0;
	/*
	 * Return EPERM for a regular file or directory: xpoll's queue computes the readiness
	 * itself.
	 */
	if (S_ISREG(status->st_mode) || S_ISDIR(status->st_mode))
		return -EPERM;
	rc = xp_edge_check_file(&set->edge, fd, 0, status, &cleared);
	return rc < 0 ? rc : set->edge.fd >= 0;
}

/*
 * Returns true if fd still refers to the attached file.  Then ends the association of fd, if there
 * is one, and makes fd due: the next flush or wait associates it again.
 */
static bool port_rearm_if_same(struct xp_port_set *set, struct xp_port_object *object,
                               int fd)
{
	bool armed = object->armed_bits != 0;

	if (port_check_file(set, object, fd) < 0 ||
	    port_release(set, object, fd) < 0)
		return false;
	if (armed)
		xp_port_make_due(set, object, fd);
	return true;
}

int xp_port_attach(struct xp_port_set *set, int fd, uint32_t watch,
                   uint64_t token)
{
	struct xp_port_object *object = xp_port_find(set, fd);
	struct stat status;
	int admitted;
	int rc;

	if (object && port_rearm_if_same(set, object, fd))
		return -EEXIST;
	if (object)
		port_forget(set, object);
	admitted = port_choose_set(set, fd, &status);
	rc = admitted < 0 ? admitted : XP_TABLE_RESERVE(&set->objects, &set->len, fd + 1);
	if (rc < 0)
		return rc;
	object = &set->objects[fd];
	object->edge_set_only = admitted > 0;
	object->token = token;
	object->device = (uint64_t)status.st_dev;
	object->inode = (uint64_t)status.st_ino;
	object->socket_ctime_s = port_socket_ctime(&status);
	rc = port_watch(set, object, fd, watch);
	if (rc == 0 && object->want)
		rc = port_associate_now(set, object, fd);
	if (rc < 0)
		port_forget(set, object);
	return rc;
}

int xp_port_change(struct xp_port_set *set, int fd, uint32_t watch,
                   uint64_t token)
{
	struct xp_port_object *object = xp_port_find(set, fd);
	int rc;

	if (!object)
		return -ENOENT;
	object->token = token;
	rc = port_watch(set, object, fd, watch);
	if (rc == 0 && object->want & ~object->armed_bits)
		xp_port_make_due(set, object, fd);
	return rc;
}

int xp_port_detach(struct xp_port_set *set, int fd)
{
	struct xp_port_object *object = xp_port_find(set, fd);
	int rc;

	if (!object) {
		rc = xp_sys_open_flags(fd);
		xp_count(&set->counters->syscalls_check);
		return rc < 0 ? rc : -ENOENT;
	}
	rc = port_check_file(set, object, fd);
	if (rc == 0) {
		rc = port_release(set, object, fd);
		port_leave_edges(set, object, fd);
	}
	port_forget(set, object);
	return rc;
}
