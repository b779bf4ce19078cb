/*
 * Watches files for users: compares files after reports, and files without reports from time to
 * time.
 */
#include "source/inode.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/time.h"
#include "source/inode_provider.h"
#include "sys/fskind.h"
#include "sys/sys.h"

/* How often files are compared that the kernel does not report. */
#define LOOK_EVERY_NS (100 * XP_NS_PER_MS)

/* Notes that a comparison of two results of fstat(2) can show. */
#define BY_LOOK (XPOLL_NOTE_DELETE | XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND | \
                 XPOLL_NOTE_ATTRIB | XPOLL_NOTE_LINK | XPOLL_NOTE_REVOKE | \
                 XPOLL_NOTE_TRUNCATE)

static struct xp_inodes *inodes_find(struct xpoll *queue)
{
	return *xp_host.state(queue, XP_SOURCE_VNODE);
}

static void user_list(struct xpoll *queue, struct xp_inodes *inodes,
                      struct xp_inode_user *user, bool timed)
{
	bool first = timed && xp_list_empty(&inodes->timed);

	xp_list_remove(&user->all);
	xp_list_append(timed ? &inodes->timed : &inodes->reported, &user->all);
	if (first)
		xp_host.set_due(queue, XP_SOURCE_VNODE,
		                xp_sys_now() + LOOK_EVERY_NS);
}

/* The directory was moved: watch its new parent, which will report its removal. */
static void user_moved(struct xpoll *queue, struct xp_inodes *inodes,
                       struct xp_inode_user *user)
{
	user_list(queue, inodes, user, xp_inode_follow(inodes, user) < 0);
}

/*
 * The kernel ended its watch of a file.  Returns true if the user's file still exists: only its
 * last name is gone, and it was opened by another name.  A file with names is then a new one that
 * has the numbers of the old.
 */
static bool user_survives(struct xpoll *queue, struct xp_inodes *inodes,
                          struct xp_inode_user *user, struct stat *now)
{
	int rc;

	if (now->st_nlink > 0)
		return false;
	rc = xp_inode_join(queue, inodes, user);
	user_list(queue, inodes, user, rc != 0);
	/* Query the file again, because nothing reported changes in between. */
	return xp_sys_fstat(user->fd, now) == 0;
}

static void user_deliver(struct xpoll *queue, struct xp_inode_user *user,
                      uint32_t notes, bool lost)
{
	uint32_t written = XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND;
	uint32_t asked = notes & user->notes;

	if (S_ISDIR(user->last.st_mode))
		written |= XPOLL_NOTE_LINK;
	if (user->as_bsd && asked & written)
		asked |= notes & written;
	if (asked)
		user->ops->reported(queue, user, asked, lost);
}

/* Compare the user's file, and report changes to the user.  Returns false if the file is gone. */
static bool user_compare(struct xpoll *queue, struct xp_inodes *inodes,
                        struct xp_inode_user *user)
{
	uint32_t reported = user->reported;
	uint32_t notes = XPOLL_NOTE_REVOKE;
	struct stat now;
	bool gone;
	int rc;

	user->reported = 0;
	if (reported & XP_REPORT_BY_TIME)
		user_list(queue, inodes, user, true);
	rc = xp_inode_look(user, &now);
	/* Query this after fstat(2), so that no rename is attributed that happened later. */
	if (rc == 0 && inodes->renamed && inodes->renamed(user, &now))
		reported |= XPOLL_NOTE_RENAME;
	if (rc == 0 && reported & XPOLL_NOTE_RENAME) {
		user_moved(queue, inodes, user);
		/* The new parent is watched only now: find changes from before that. */
		rc = xp_inode_look(user, &now);
	}
	gone = rc == -EBADF || rc == -ENOENT;
	if (!gone && rc == 0 && reported & XP_REPORT_ENDED &&
	    !(reported & XPOLL_NOTE_REVOKE))
		gone = !user_survives(queue, inodes, user, &now);
	if (gone)
		return false;
	/*
	 * The directory was moved, and then removed before its new parent was watched, so no event
	 * reports the removal.
	 */
	if (rc == 0 && reported & XPOLL_NOTE_RENAME && now.st_nlink == 0 &&
	    S_ISDIR(now.st_mode))
		reported |= XPOLL_NOTE_DELETE;
	/* If fstat(2) fails on an open file, its file system is gone: only REVOKE is reported. */
	if (rc == 0) {
		notes = xp_inode_notes(user, reported, &now);
		xp_inode_remember(&user->last, reported, &now);
	}
	user_deliver(queue, user, notes, reported & XP_REPORT_LOST);
	return true;
}

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

static void inodes_ready(struct xpoll *queue, struct xp_source_fd *watch)
{
	struct xp_inodes *inodes = inodes_find(queue);

	(void)watch;
	xp_inodes_harvest(inodes);
	inodes_compare(queue, inodes);
}

/* Returns the state of the queue, allocated at the first call; NULL: no memory. */
static struct xp_inodes *inodes_make(struct xpoll *queue)
{
	void **state = xp_host.state(queue, XP_SOURCE_VNODE);
	struct xp_inodes *inodes = *state;

	if (inodes)
		return inodes;
	inodes = xp_alloc(sizeof *inodes);
	if (!inodes)
		return NULL;
	xp_list_init(&inodes->reported);
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

	(void)room; /* there are no more events than registrations */
	if (inodes->again)
		inodes->again(inodes);
	XP_LIST_EACH(struct xp_inode_user, user, &inodes->timed, all)
		xp_inode_report(inodes, user, XP_REPORT_LOOK);
	inodes_compare(queue, inodes);
	xp_host.set_due(queue, XP_SOURCE_VNODE,
	                xp_list_empty(&inodes->timed) ? XP_NEVER
	                : now_ns + LOOK_EVERY_NS);
}

/* A change has read reports for other users: the next wait compares their files. */
static void compare_soon(struct xpoll *queue, struct xp_inodes *inodes)
{
	if (!xp_list_empty(&inodes->to_compare))
		xp_host.set_due(queue, XP_SOURCE_VNODE, xp_sys_now());
}

/* Report to all users what happened up to now, before a watch is changed. */
static void compare_others(struct xpoll *queue, struct xp_inodes *inodes)
{
	if (inodes->watch.fd < 0)
		return;
	xp_inodes_harvest(inodes);
	inodes_compare(queue, inodes);
}

/*
 * Let the kernel report the file; or compare it from time to time, if the kernel does not report it
 * and a comparison shows all requested notes.
 */
static int user_join(struct xpoll *queue, struct xp_inodes *inodes,
                     struct xp_inode_user *user, bool lenient)
{
	int rc = xp_inode_join(queue, inodes, user);

	if (rc < 0 && (rc == -ESTALE || user->notes & ~(uint32_t)BY_LOOK ||
	               (rc != -ENOTSUP && rc != -EPERM && !lenient)))
		return rc;
	user_list(queue, inodes, user, rc != 0);
	return 0;
}

int xp_inode_watch(struct xpoll *queue, struct xp_inode_user *user, int fd,
                   uint32_t notes, bool lenient)
{
	struct xp_inodes *inodes = inodes_make(queue);
	int rc = xp_sys_fstat_born(fd, &user->last, &user->born_ns);

	XP_ASSERT(user->ops && !user->self.inode);
	if (rc < 0 || !inodes)
		return rc < 0 ? rc : -ENOMEM;
	if (!xp_fs_is_file(fd, user->last.st_mode))
		return -EINVAL;
	xp_list_init(&user->all);
	xp_list_init(&user->to_compare);
	user->self.user = user;
	user->above.user = user;
	user->fd = fd;
	user->notes = notes;
	user->reported = 0;
	user->ignored = 0;
	compare_others(queue, inodes);
	rc = user_join(queue, inodes, user, lenient);
	if (rc < 0)
		user->self.user = NULL;
	else
		compare_soon(queue, inodes);
	return rc;
}

/* Changes from before a note was requested must not be reported for it. */
static void forget_unrequested(struct xp_inode_user *user, const struct stat *now)
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
 * Before the notes of the user change: report what has happened so far by the present notes.
 * Returns false if fd was reused for another file.
 */
static bool user_compare_before_change(struct xpoll *queue, struct xp_inodes *inodes,
                               struct xp_inode_user *user)
{
	bool compare = !user->self.inode; /* the kernel does not report this file */
	struct stat now;
	int rc;

	if (inodes->watch.fd >= 0)
		xp_inodes_harvest(inodes);
	if (compare)
		xp_inode_report(inodes, user, XP_REPORT_LOOK);
	if (!xp_list_empty(&user->to_compare)) {
		xp_list_remove(&user->to_compare);
		if (!user_compare(queue, inodes, user))
			return false;
	}
	if (compare) /* user->last is up to date now */
		return true;
	rc = xp_inode_look(user, &now);
	if (rc == 0)
		forget_unrequested(user, &now);
	return rc != -EBADF && rc != -ENOENT;
}

int xp_inode_rewatch(struct xpoll *queue, struct xp_inode_user *user,
                     uint32_t notes, bool lenient)
{
	struct xp_inodes *inodes = inodes_find(queue);
	uint32_t before = user->notes;
	int rc;

	if (!user_compare_before_change(queue, inodes, user))
		return -ESTALE;
	user->notes = notes;
	user->ignored = 0;
	rc = user_join(queue, inodes, user, lenient);
	if (rc < 0)
		user->notes = before;
	compare_soon(queue, inodes);
	return rc;
}

void xp_inode_listen(struct xpoll *queue, struct xp_inode_user *user)
{
	struct xp_inodes *inodes = inodes_find(queue);
	struct stat now;
	int rc;

	if (!user->ignored)
		return;
	user->ignored = 0;
	rc = xp_inode_join(queue, inodes, user);
	user_list(queue, inodes, user, rc != 0);
	compare_soon(queue, inodes);
	/*
	 * fstat(2) failed, or fd now refers to another file: report nothing.  The registration's
	 * `confirm` detects that.
	 */
	if (xp_inode_look(user, &now) < 0)
		return;
	user_deliver(queue, user,
	          xp_inode_compare(user->as_bsd, 0, &user->last, &now), false);
	user->last = now;
}

void xp_inode_unwatch(struct xpoll *queue, struct xp_inode_user *user)
{
	struct xp_inodes *inodes = inodes_find(queue);

	if (!user->self.user || !inodes)
		return;
	xp_inode_leave(inodes, user);
	xp_list_remove(&user->all);
	xp_list_remove(&user->to_compare);
	user->self.user = NULL;
	compare_soon(queue, inodes);
}

bool xp_inode_supports(uint32_t notes)
{
	return !(notes & ~(uint32_t)BY_LOOK) ||
		!(notes & ~xp_inodes_reportable());
}

/* End the watches of a list of users, and drop reports for them. */
static void users_release(struct xp_list *list)
{
	struct xp_list *item;

	while ((item = xp_list_take(list))) {
		struct xp_inode_user *user = XP_CONTAINER_OF(item, struct xp_inode_user, all);

		xp_list_remove(&user->to_compare);
		user->self.inode = NULL;
		user->above.inode = NULL;
		user->self.user = NULL;
		user->reserved = 0;
	}
}

void xp_inodes_fini(struct xpoll *queue, void *state)
{
	struct xp_inodes *inodes = state;

	(void)queue;
	users_release(&inodes->reported);
	users_release(&inodes->timed);
	XP_ASSERT(xp_list_empty(&inodes->to_compare));
	xp_inodes_close(inodes);
	xp_regmap_fini(&inodes->map);
	if (inodes->watch.fd >= 0)
		xp_sys_close(inodes->watch.fd);
	xp_free(inodes);
}
