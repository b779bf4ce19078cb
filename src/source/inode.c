/*
 * Watches files for the registrations that use them, called users.  When the kernel reports a
 * change, the file's status is compared with the last known one; files that the kernel does not
 * report are compared at intervals (COMPARE_INTERVAL_NS).
 */
#include "source/inode.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/threads.h"
#include "base/time.h"
#include "source/inode_provider.h"
#include "sys/fskind.h"
#include "sys/sys.h"

/*
 * inotify reports each removal of a watch.  After so many removals the reports are read, because
 * the kernel drops reports beyond 16384 (/proc/sys/fs/inotify/max_queued_events).
 */
#define REMOVED_MOST 4096

/* The interval at which files are compared that the kernel does not report. */
#define COMPARE_INTERVAL_NS (100 * XP_NS_PER_MS)

/* The notes that a comparison of two results of fstat(2) can show. */
#define COMPARABLE_NOTES (XPOLL_NOTE_DELETE | XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND | \
                          XPOLL_NOTE_ATTRIB | XPOLL_NOTE_LINK | XPOLL_NOTE_REVOKE | \
                          XPOLL_NOTE_TRUNCATE)

/* Returns the state of the source VNODE in this queue; NULL: there is none. */
static struct xp_inodes *inodes_find(struct xpoll *queue)
{
	return *xp_host.state(queue, XP_SOURCE_VNODE);
}

/*
 * Put the user into the list of files that are compared at intervals (timed), or of files that the
 * kernel reports.
 */
static void user_set_list(struct xpoll *queue, struct xp_inodes *inodes,
                          struct xp_inode_user *user, bool timed)
{
	bool first = timed && xp_list_empty(&inodes->timed);

	xp_list_remove(&user->list_item);
	xp_list_append(timed ? &inodes->timed : &inodes->kernel_watched, &user->list_item);
	if (first)
		xp_host.set_due(queue, XP_SOURCE_VNODE,
		                xp_sys_now() + COMPARE_INTERVAL_NS);
}

/*
 * The user's file was renamed: where the system watches names or parent directories, watch the new
 * ones (xp_inode_follow_rename).  Returns true if changes since the rename may not have been
 * reported.
 */
static bool user_follow(struct xpoll *queue, struct xp_inodes *inodes, struct xp_inode_user *user)
{
	int rc = xp_inode_follow_rename(inodes, user);

	user_set_list(queue, inodes, user, rc < 0);
	return rc != 0;
}

/*
 * Called after the kernel has ended its watch of the file, because the file's last name was
 * removed.  If the file that fd refers to has no name, it is the watched one and still open:
 * watches it again, updates *now and returns true.  If it has a name, fd was reused for a new file
 * that has the inode number of the old one: returns false.  Also returns false if fstat(2) fails.
 */
static bool user_rejoin_if_alive(struct xpoll *queue, struct xp_inodes *inodes,
                                 struct xp_inode_user *user, struct stat *now)
{
	int rc;

	if (now->st_nlink > 0)
		return false;
	rc = xp_inode_join(queue, inodes, user);
	user_set_list(queue, inodes, user, rc != 0);
	/* Query the status again: changes before the new watch were not reported. */
	return xp_sys_fstat(user->fd, now) == 0;
}

/*
 * Report those notes that the user has requested.  With XPOLL_VNODE_AS_BSD, a requested note of a
 * write is reported together with the other notes of that write.
 */
static void user_notify_requested(struct xpoll *queue, struct xp_inode_user *user,
                      uint32_t notes, bool lost)
{
	uint32_t written = XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND;
	uint32_t asked = notes & user->notes;

	if (S_ISDIR(user->last.st_mode))
		written |= XPOLL_NOTE_LINK;
	if (user->as_bsd && asked & written)
		asked |= notes & written;
	if (asked)
		user->ops->notify(queue, user, asked, lost);
}

/*
 * Compare the status of the user's file with the last known one, and report changes to the user.
 * Returns false if the descriptor was closed or reused, or if the file is gone.
 */
static bool user_compare(struct xpoll *queue, struct xp_inodes *inodes,
                        struct xp_inode_user *user)
{
	uint32_t reported = user->pending_reports;
	uint32_t notes = XPOLL_NOTE_REVOKE;
	struct stat now;
	bool gone;
	int rc;

	user->pending_reports = 0;
	if (reported & XP_REPORT_MAKE_TIMED)
		user_set_list(queue, inodes, user, true);
	rc = xp_inode_stat(user, &now);
	/*
	 * Call `renamed` after the query of the status: if the status already shows effects of a
	 * rename, `renamed` finds the rename, and the effects are not reported as another change.
	 */
	if (rc == 0 && inodes->renamed && inodes->renamed(user, &now))
		reported |= XPOLL_NOTE_RENAME;
	/*
	 * If a new name or parent is watched only now, query the status again, to find an earlier
	 * removal.
	 */
	if (rc == 0 && reported & XPOLL_NOTE_RENAME && user_follow(queue, inodes, user))
		rc = xp_inode_stat(user, &now);
	gone = rc == -EBADF || rc == -ENOENT;
	if (!gone && rc == 0 && reported & XP_REPORT_ENDED &&
	    !(reported & XPOLL_NOTE_REVOKE))
		gone = !user_rejoin_if_alive(queue, inodes, user, &now);
	if (gone)
		return false;
	/*
	 * The directory was moved, and then removed before its new parent was watched, so no event
	 * reports the removal: add DELETE.
	 */
	if (rc == 0 && reported & XPOLL_NOTE_RENAME && now.st_nlink == 0 &&
	    S_ISDIR(now.st_mode))
		reported |= XPOLL_NOTE_DELETE;
	/*
	 * An fstat(2) that fails for an open file means that the file system was unmounted: `notes`
	 * is REVOKE only.
	 */
	if (rc == 0) {
		notes = xp_inode_notes(user, reported, &now);
		xp_inode_remember(&user->last, reported, &now);
	}
	user_notify_requested(queue, user, notes, reported & XP_REPORT_LOST);
	return true;
}

/* Compare the files in `to_compare`, and call `gone` for users whose file is gone. */
static void inodes_compare(struct xpoll *queue, struct xp_inodes *inodes)
{
	struct xp_list *item;

	while ((item = xp_list_take(&inodes->to_compare))) {
		struct xp_inode_user *user =
			XP_CONTAINER_OF(item, struct xp_inode_user, to_compare);

		if (!user_compare(queue, inodes, user))
			user->ops->gone(queue, user);
	}
}

/*
 * Called when the instance (inotify, kqueue or port) is readable: read its reports, and compare the
 * files that they are about.
 */
static void inodes_ready(struct xpoll *queue, struct xp_source_fd *watch)
{
	struct xp_inodes *inodes = inodes_find(queue);

	(void)watch;
	xp_inodes_harvest(inodes);
	inodes_compare(queue, inodes);
}

/* Returns the queue's state of VNODE, allocated at the first call; NULL: no memory. */
static struct xp_inodes *inodes_make(struct xpoll *queue)
{
	void **state = xp_host.state(queue, XP_SOURCE_VNODE);
	struct xp_inodes *inodes = *state;

	if (inodes)
		return inodes;
	inodes = xp_zalloc(sizeof *inodes);
	if (!inodes)
		return NULL;
	xp_list_init(&inodes->kernel_watched);
	xp_list_init(&inodes->timed);
	xp_list_init(&inodes->to_compare);
	xp_list_init(&inodes->pool);
	inodes->queue = queue;
	inodes->watch.fd = -1;
	inodes->watch.ready = inodes_ready;
	*state = inodes;
	return inodes;
}

void xp_inodes_due(struct xpoll *queue, int64_t now_ns, int room)
{
	struct xp_inodes *inodes = inodes_find(queue);

	(void)room; /* one event per registration at most, so no limit is needed */
	if (inodes->retry_watches)
		inodes->retry_watches(inodes);
	XP_LIST_EACH(struct xp_inode_user, user, &inodes->timed, list_item)
		xp_inode_report(inodes, user, XP_REPORT_COMPARE);
	inodes_compare(queue, inodes);
	xp_host.set_due(queue, XP_SOURCE_VNODE,
	                xp_list_empty(&inodes->timed) ? XP_NEVER
	                : now_ns + COMPARE_INTERVAL_NS);
}

/*
 * Called after a change of one user, which may have read reports about the files of other users,
 * too: have the next wait compare the files of the other users.
 */
static void compare_in_next_wait(struct xpoll *queue, struct xp_inodes *inodes)
{
	if (!xp_list_empty(&inodes->to_compare))
		xp_host.set_due(queue, XP_SOURCE_VNODE, xp_sys_now());
}

/*
 * Make the kernel report changes of the user's file.  If the kernel cannot, and a comparison of
 * fstat(2) results shows all requested notes, compare the file at intervals (COMPARE_INTERVAL_NS)
 * instead.  lenient: do that also after other errors, such as an exhausted limit, except -ESTALE.
 */
static int user_join(struct xpoll *queue, struct xp_inodes *inodes,
                     struct xp_inode_user *user, bool lenient)
{
	int rc = xp_inode_join(queue, inodes, user);

	if (rc < 0 && (rc == -ESTALE || user->notes & ~(uint32_t)COMPARABLE_NOTES ||
	               (rc != -ENOTSUP && rc != -EPERM && !lenient)))
		return rc;
	user_set_list(queue, inodes, user, rc != 0);
	return 0;
}

/*
 * Have the kernel report the notes in user->suppressed from now on.  They were left out of its
 * reports, because it had reported them while the user did not listen.
 */
static void user_request_suppressed(struct xpoll *queue, struct xp_inodes *inodes,
                                    struct xp_inode_user *user)
{
	int rc;

	if (!user->suppressed)
		return;
	user->suppressed = 0;
	rc = xp_inode_join(queue, inodes, user);
	user_set_list(queue, inodes, user, rc != 0);
}

/*
 * A new user has joined an inode that was watched before: read the reports, which may be about
 * earlier changes, and drop those for the new user.
 */
static void drop_earlier_reports(struct xpoll *queue, struct xp_inodes *inodes,
                                 struct xp_inode_user *user)
{
	xp_inodes_harvest(inodes);
	user_request_suppressed(queue, inodes, user);
	user->pending_reports &= XP_REPORT_LOST | XP_REPORT_ENDED;
	if (!user->pending_reports)
		xp_list_remove(&user->to_compare);
}

/*
 * Returns true if other users watch the same inode: the inode's list has a third item, besides its
 * head and this user's.
 */
static bool user_has_company(const struct xp_inode_user *user)
{
	return user->self.inode && user->self.item.next != user->self.item.prev;
}

int xp_inode_watch(struct xpoll *queue, struct xp_inode_user *user, int fd,
                   uint32_t notes, bool lenient)
{
	struct xp_inodes *inodes = inodes_make(queue);
	const struct xp_inode *spare;
	int rc = xp_sys_fstat_born(fd, &user->last, &user->born_ns);

	XP_ASSERT(user->ops && !user->self.inode);
	if (rc < 0 || !inodes)
		return rc < 0 ? rc : -ENOMEM;
	if (!xp_fs_contains(fd, user->last.st_mode))
		return -EINVAL;
	xp_list_init(&user->list_item);
	xp_list_init(&user->to_compare);
	user->self.user = user;
	user->above.user = user;
	user->fd = fd;
	user->notes = notes;
	user->pending_reports = 0;
	user->suppressed = 0;
	spare = inodes->spare;
	if (xp_inode_is_spare(inodes, user)) {
		/*
		 * `spare` is the inode of this file, which no user watches any more, but the kernel
		 * still does.  An unread report about the inode is of a change before this call,
		 * which the new user must not get: so read the reports now.  If one is about this
		 * inode, the kernel's watch is ended, and user_join makes a new one.
		 */
		xp_inodes_harvest(inodes);
		spare = NULL;
	}
	rc = user_join(queue, inodes, user, lenient);
	/*
	 * Another thread may have reused fd, so that the kernel watches another file than that of
	 * user->last: record the birth as unknown, so that a later user of this file does not take
	 * over the watch (inodes->spare).
	 */
	if (rc == 0 && !xp_single_threaded() && xp_inode_verify_fd(user) < 0)
		user->born_ns = 0;
	if (rc < 0)
		user->self.user = NULL;
	else if (user_has_company(user) || (spare && user->self.inode == spare))
		drop_earlier_reports(queue, inodes, user);
	compare_in_next_wait(queue, inodes);
	return rc;
}

/*
 * Called before further notes are requested, so that no change until now is reported for them.
 * Stores the present size, times and attributes as the last known ones, except those that the notes
 * requested before still need.
 */
static void take_over_unrequested(struct xp_inode_user *user, const struct stat *now)
{
	if (!(user->notes & (XPOLL_NOTE_EXTEND | XPOLL_NOTE_TRUNCATE)))
		user->last.st_size = now->st_size;
	if (!(user->notes & XPOLL_NOTE_WRITE))
		user->last.st_mtim = now->st_mtim;
	if (user->notes & (XPOLL_NOTE_LINK | XPOLL_NOTE_DELETE | XPOLL_NOTE_ATTRIB))
		return;
	user->last.st_nlink = now->st_nlink;
	user->last.st_mode = now->st_mode;
	user->last.st_uid = now->st_uid;
	user->last.st_gid = now->st_gid;
	user->last.st_ctim = now->st_ctim;
}

/*
 * Called before the user's requested notes change: report earlier changes by the old notes.
 * Returns false if fd was closed or reused for another file, or if the file is gone.
 */
static bool user_compare_before_change(struct xpoll *queue, struct xp_inodes *inodes,
                               struct xp_inode_user *user)
{
	bool compare = !user->self.inode; /* true if the kernel does not report this file */
	struct stat now;
	int rc;

	if (inodes->watch.fd >= 0)
		xp_inodes_harvest(inodes);
	if (compare)
		xp_inode_report(inodes, user, XP_REPORT_COMPARE);
	if (!xp_list_empty(&user->to_compare)) {
		xp_list_remove(&user->to_compare);
		if (!user_compare(queue, inodes, user))
			return false;
	}
	if (compare) /* the comparison has updated user->last */
		return true;
	rc = xp_inode_stat(user, &now);
	if (rc == 0)
		take_over_unrequested(user, &now);
	return rc != -EBADF && rc != -ENOENT;
}

int xp_inode_set_notes(struct xpoll *queue, struct xp_inode_user *user,
                       uint32_t notes, bool lenient)
{
	struct xp_inodes *inodes = inodes_find(queue);
	uint32_t before = user->notes;
	int rc;

	if (!user_compare_before_change(queue, inodes, user))
		return -ESTALE;
	user->notes = notes;
	user->suppressed = 0;
	rc = user_join(queue, inodes, user, lenient);
	if (rc < 0)
		user->notes = before;
	compare_in_next_wait(queue, inodes);
	return rc;
}

void xp_inode_resume_reports(struct xpoll *queue, struct xp_inode_user *user)
{
	struct xp_inodes *inodes = inodes_find(queue);
	struct stat now;

	if (!user->suppressed)
		return;
	user_request_suppressed(queue, inodes, user);
	compare_in_next_wait(queue, inodes);
	/*
	 * fstat(2) failed, or fd refers to another file now: report nothing.  The registration's
	 * `verify_ident` detects that before a delivery.
	 */
	if (xp_inode_stat(user, &now) < 0)
		return;
	user_notify_requested(queue, user,
	          xp_inode_compare(user->as_bsd, 0, &user->last, &now), false);
	user->last = now;
}

void xp_inode_unwatch(struct xpoll *queue, struct xp_inode_user *user)
{
	struct xp_inodes *inodes = inodes_find(queue);

	if (!user->self.user || !inodes)
		return;
	xp_inode_leave(inodes, user);
	if (inodes->removed >= REMOVED_MOST)
		xp_inodes_harvest(inodes);
	xp_list_remove(&user->list_item);
	xp_list_remove(&user->to_compare);
	user->self.user = NULL;
	compare_in_next_wait(queue, inodes);
}

bool xp_inode_supports(uint32_t notes)
{
	return !(notes & ~(uint32_t)COMPARABLE_NOTES) ||
		!(notes & ~xp_inodes_reportable());
}

/*
 * Called before the instance is closed: mark the users of a list as not watched, and discard
 * reports for them.
 */
static void users_release(struct xp_list *list)
{
	struct xp_list *item;

	while ((item = xp_list_take(list))) {
		struct xp_inode_user *user = XP_CONTAINER_OF(item, struct xp_inode_user, list_item);

		xp_list_remove(&user->to_compare);
		user->self.inode = NULL;
		user->above.inode = NULL;
		user->self.user = NULL;
		user->reserved_inodes = 0;
	}
}

void xp_inodes_fini(struct xpoll *queue, void *state)
{
	struct xp_inodes *inodes = state;

	(void)queue;
	users_release(&inodes->kernel_watched);
	users_release(&inodes->timed);
	XP_ASSERT(xp_list_empty(&inodes->to_compare));
	xp_inodes_close(inodes);
	xp_regmap_fini(&inodes->map);
	if (inodes->watch.fd >= 0)
		xp_sys_close(inodes->watch.fd);
	xp_free(inodes);
}
