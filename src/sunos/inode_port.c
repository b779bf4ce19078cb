/*
 * Watches files by event ports: one port per queue, with a watch for each registration ("user").
 *
 * A watch is for a name, and reports once.  The name is the one that /proc has for the descriptor.
 * After an event the watch is made again at once, unless the user is disabled, and before the file
 * is compared, so the comparison finds changes between the event and the new watch.  A file without
 * a known name is compared from time to time, until a name is found.
 *
 * ftruncate(2) is reported only if nothing is left of the file, so a file that is watched for
 * writes is compared from time to time, too.
 */
#include "source/inode_late.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "sunos/sys_port_file.h"
#include "sys/sys.h"

enum {
	PORT_FILE_PATH_MOST = 1024,
	PORT_FILE_EVENTS = 32,
	/*
	 * Most reads in a row, so that a busy writer cannot make this thread hold the queue's lock
	 * long.
	 */
	PORT_FILE_READS = 64,
};

/*
 * The watch of one registration (`user`).  Registrations of the same file do not share a watch.
 */
struct xp_inode {
	struct xp_regmap_item item; /* ident: the cookie of the events */
	struct xp_inode_user *user;
	/* the kernel identifies the watch by the address of this member */
	struct file_obj object;
	bool armed;                 /* the watch is active */
	char *path;                 /* the file's last known path; NULL: none */
};

uint32_t xp_inodes_reportable(void)
{
	return XP_NOTES_WRITTEN | XPOLL_NOTE_DELETE | XPOLL_NOTE_ATTRIB |
		XPOLL_NOTE_LINK | XPOLL_NOTE_RENAME | XPOLL_NOTE_REVOKE |
		XPOLL_NOTE_READ;
}

/*
 * Returns the port's events to request for these notes; the kernel always reports removals and
 * renames.
 */
static int port_file_events(uint32_t notes)
{
	int events = FILE_NOFOLLOW;

	if (notes & XP_NOTES_WRITTEN)
		events |= FILE_MODIFIED | FILE_TRUNC;
	/* A write changes the time, too, an attribute: request writes to distinguish the two. */
	if (notes & (XPOLL_NOTE_ATTRIB | XPOLL_NOTE_LINK))
		events |= FILE_ATTRIB | FILE_MODIFIED;
	if (notes & XPOLL_NOTE_READ)
		events |= FILE_ACCESS;
	return events;
}

/* Returns the notes for these events; a comparison of the file finds the other notes. */
static uint32_t port_file_notes(const struct xp_inode_user *user, int events,
                                const struct stat *now)
{
	uint32_t notes = XP_REPORT_COMPARE;

	if (events & FILE_ACCESS)
		notes |= XPOLL_NOTE_READ;
	if (events & FILE_RENAME_FROM)
		notes |= XPOLL_NOTE_RENAME;
	if (events & FILE_MODIFIED) {
		/*
		 * A comparison would not find this write if its time is that of the last
		 * comparison, because the file system's clock is coarse.
		 */
		if (xp_same_time(&user->last.st_mtim, &now->st_mtim))
			notes |= XPOLL_NOTE_WRITE;
	} else if (events & FILE_ATTRIB) {
		notes |= XPOLL_NOTE_ATTRIB;
	}
	return notes;
}

/* --- Names ------------------------------------------------------------------- */

/* Returns true if this path leads to the file of `status`. */
static bool port_file_is_at_path(const struct stat *status, const char *path)
{
	struct stat found;

	return xp_sys_lstat(path, &found) == 0 &&
		found.st_dev == status->st_dev && found.st_ino == status->st_ino;
}

/*
 * Returns a hash of the file's name and of the inode of its directory: unlike a hash of the path,
 * this hash stays the same when a directory above is renamed.
 */
static uint64_t port_file_hash_location(char *path)
{
	char *name = strrchr(path, '/') + 1;
	uint64_t hash = xp_inode_hash(XP_INODE_HASH, name, strlen(name));
	char first = *name;
	struct stat above;

	*name = '\0';
	if (xp_sys_lstat(path, &above) == 0) {
		hash = xp_inode_hash(hash, &above.st_dev, sizeof above.st_dev);
		hash = xp_inode_hash(hash, &above.st_ino, sizeof above.st_ino);
	}
	*name = first;
	return hash;
}

/*
 * Find the present path of the file, and report a rename if the file's name or directory has
 * changed since the last call.  Returns 0; -ENOENT: the file has no known path; -ENOMEM.
 */
static int port_file_find_path(struct xp_inodes *inodes, struct xp_inode *inode,
                               const struct stat *now)
{
	struct xp_inode_user *user = inode->user;
	bool known = inode->path;
	char path[PORT_FILE_PATH_MOST];
	int length = xp_sys_fd_path(user->fd, path, sizeof path);
	uint64_t place;
	char *copy;

	if (length < 0 || !port_file_is_at_path(now, path))
		return -ENOENT;
	copy = xp_realloc(inode->path, (size_t)length + 1);
	if (!copy)
		return -ENOMEM;
	inode->path = copy;
	memcpy(copy, path, (size_t)length + 1);
	place = port_file_hash_location(path);
	if (known && user->path_hash != place)
		xp_inode_report(inodes, user, XPOLL_NOTE_RENAME | XP_REPORT_COMPARE);
	user->path_hash = place;
	return 0;
}

/* --- Watches ----------------------------------------------------------------- */

/* Watch the file at inode->path.  Returns 0; -ENOENT: the file is no longer there; or an error. */
static int port_file_watch(struct xp_inodes *inodes, struct xp_inode *inode,
                           const struct stat *now)
{
	int rc;

	inode->object.fo_name = inode->path;
	inode->object.fo_atime = now->st_atim;
	inode->object.fo_mtime = now->st_mtim;
	inode->object.fo_ctime = now->st_ctim;
	rc = xp_sys_port_watch(inodes->watch.fd, &inode->object,
	                       port_file_events(inode->user->notes),
	                       (uintptr_t)inode->item.ident);
	/* If the path leads to another file by now, that file is watched: end the watch. */
	inode->armed = rc == 0 && port_file_is_at_path(now, inode->path);
	if (rc == 0 && !inode->armed)
		xp_sys_port_unwatch(inodes->watch.fd, &inode->object);
	return rc < 0 ? rc : inode->armed ? 0 : -ENOENT;
}

/*
 * Watch a file, whose present status is `now`, for one event.  Returns 0; -ENOTSUP: the file has no
 * known path; or another negative errno value.
 */
static int port_file_arm(struct xp_inodes *inodes, struct xp_inode *inode,
                         const struct stat *now)
{
	int rc = -ENOENT;

	if (inode->armed) {
		/* The new watch may discard an event of the old one, so have the file compared. */
		xp_inode_report(inodes, inode->user, XP_REPORT_COMPARE);
		inode->armed = false;
	}
	if (now->st_nlink == 0)
		return -ENOTSUP;
	if (inode->path)
		rc = port_file_watch(inodes, inode, now);
	if (rc == -ENOENT) {
		rc = port_file_find_path(inodes, inode, now);
		if (rc == 0)
			rc = port_file_watch(inodes, inode, now);
	}
	return rc == -ENOENT ? -ENOTSUP : rc;
}

/* Handle an event of a watched file, and watch the file again, because a watch reports once. */
static void port_file_reported(struct xp_inodes *inodes, const port_event_t *event)
{
	struct xp_inode *inode = xp_inode_find(inodes, (uintptr_t)event->portev_user);
	struct xp_inode_user *user;
	uint32_t notes;
	struct stat now;

	if (!inode)
		return; /* the event was sent before the watch ended */
	user = inode->user;
	inode->armed = false;
	/* If fstat(2) fails, the comparison that port_file_notes requests finds that out. */
	if (xp_sys_fstat(user->fd, &now) < 0)
		now = user->last;
	notes = port_file_notes(user, event->portev_events, &now);
	xp_inode_report(inodes, user, notes);
	if (!user->ops->wants_reports(inodes->queue, user))
		user->suppressed |= notes;
	else if (port_file_arm(inodes, inode, &now) < 0)
		xp_inode_report(inodes, user, XP_REPORT_MAKE_TIMED);
}

void xp_inodes_harvest(struct xp_inodes *inodes)
{
	port_event_t events[PORT_FILE_EVENTS];
	int count = PORT_FILE_EVENTS;

	for (int i = 0; i < PORT_FILE_READS && count == PORT_FILE_EVENTS; i++) {
		count = xp_sys_port_now(inodes->watch.fd, events,
		                        PORT_FILE_EVENTS);
		for (int j = 0; j < count; j++)
			port_file_reported(inodes, &events[j]);
	}
}

/*
 * Called from time to time: files without a watch may have a known path by now, so try to watch
 * them.
 */
static void port_files_retry(struct xp_inodes *inodes)
{
	xp_inodes_harvest(inodes);
	XP_LIST_EACH(struct xp_inode_user, user, &inodes->timed, list_item) {
		struct xp_inode *inode = user->self.inode;
		struct stat now;

		if (inode && !inode->armed && !user->suppressed &&
		    xp_inode_verify_fd(user) == 0 &&
		    xp_sys_fstat(user->fd, &now) == 0)
			(void)port_file_arm(inodes, inode, &now);
	}
}

/* --- Users ------------------------------------------------------------------- */

static int port_files_open(struct xpoll *queue, struct xp_inodes *inodes)
{
	if (inodes->watch.fd >= 0)
		return 0;
	inodes->retry_watches = port_files_retry;
	return xp_inodes_adopt_fd(queue, inodes, xp_sys_port_create());
}

static void port_file_free(struct xp_inode *inode)
{
	xp_free(inode->path);
	xp_free(inode);
}

static void port_file_drop(struct xp_inodes *inodes, struct xp_inode *inode)
{
	inode->user->self.inode = NULL;
	xp_regmap_remove(&inodes->map, &inode->item, 0);
	port_file_free(inode);
}

static int port_file_make(struct xp_inodes *inodes, struct xp_inode_user *user)
{
	struct xp_inode *inode = xp_zalloc(sizeof *inode);

	if (!inode)
		return -ENOMEM;
	/*
	 * The cookie by which events find this watch: the next number, without 0.  A cookie repeats
	 * after 2^32 - 1 watches, when the events of the earlier watch are long gone.
	 */
	inodes->last_inode_number += inodes->last_inode_number == UINT32_MAX ? 2 : 1;
	inode->item.ident = inodes->last_inode_number;
	inode->user = user;
	if (xp_regmap_add(&inodes->map, &inode->item, 0) < 0) {
		xp_free(inode);
		return -ENOMEM;
	}
	user->self.inode = inode;
	return 0;
}

int xp_inode_join(struct xpoll *queue, struct xp_inodes *inodes,
                  struct xp_inode_user *user)
{
	bool joined = user->self.inode;
	struct stat now;
	int rc = user->notes & ~xp_inodes_reportable() ? -ENOTSUP
		: port_files_open(queue, inodes);

	if (rc < 0)
		return rc;
	xp_inodes_harvest(inodes);
	rc = xp_sys_fstat(user->fd, &now);
	/*
	 * A file without links has no path to watch: return 1, so that the file is compared from
	 * time to time; but -ENOTSUP for READ, which no comparison shows.
	 */
	if (rc == 0 && !joined && now.st_nlink == 0)
		return user->notes & XPOLL_NOTE_READ ? -ENOTSUP : 1;
	if (rc == 0 && !joined)
		rc = port_file_make(inodes, user);
	if (rc == 0)
		rc = port_file_arm(inodes, user->self.inode, &now);
	if (rc == 0)
		return xp_inode_needs_polling(user);
	if (joined)
		xp_inode_report(inodes, user, XP_REPORT_MAKE_TIMED | XP_REPORT_COMPARE);
	else if (user->self.inode)
		port_file_drop(inodes, user->self.inode);
	return rc;
}

/*
 * Watches nothing, because port_file_arm has watched the new path after the event of the rename, if
 * that path is known.
 */
int xp_inode_follow_rename(struct xp_inodes *inodes, struct xp_inode_user *user)
{
	(void)inodes;
	return user->self.inode && user->self.inode->armed &&
		!xp_inode_needs_polling(user) ? 1 : -ENOTSUP;
}

void xp_inode_leave(struct xp_inodes *inodes, struct xp_inode_user *user)
{
	struct xp_inode *inode = user->self.inode;

	if (!inode)
		return;
	XP_ASSERT(inode->user == user);
	/* The kernel keeps an object for a watch even after the event: remove the object. */
	xp_sys_port_unwatch(inodes->watch.fd, &inode->object);
	port_file_drop(inodes, inode);
}

void xp_inodes_close(struct xp_inodes *inodes)
{
	struct xp_inode *inode;

	for (size_t at = 0; (inode = xp_inode_walk(inodes, &at));)
		port_file_free(inode);
}
