/*
 * Watches files through their directories: a change handle of a directory is signalled when
 * anything in the directory has changed.  Then the watched files of the directory are compared with
 * their last status, by their own handles, so names do not matter and no report can be lost.
 *
 * The system reports a new size or time of a file when it writes them to the directory, which may
 * be as late as the file's close.  So a file that is watched for writes is also compared from time
 * to time.
 */
#include "source/inode_late.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "windows/nt.h"

/* Room for a path, in characters; files with longer paths are compared from time to time. */
enum { CHANGE_PATH_MOST = 1024 };

#define CHANGE_KINDS                                                      \
	(FILE_NOTIFY_CHANGE_FILE_NAME | FILE_NOTIFY_CHANGE_DIR_NAME |     \
	 FILE_NOTIFY_CHANGE_ATTRIBUTES | FILE_NOTIFY_CHANGE_SIZE |        \
	 FILE_NOTIFY_CHANGE_LAST_WRITE | FILE_NOTIFY_CHANGE_SECURITY)

/* A directory that is watched. */
struct xp_inode {
	struct xp_regmap_item item; /* ident: a hash of the directory's path */
	/*
	 * links of the users (registrations) that watch a file in the directory, or the directory
	 * itself
	 */
	struct xp_list links;
	struct xp_inodes *inodes;
	struct xp_source_fd watch;  /* fd: the change handle */
	WCHAR path[];
};

uint32_t xp_inodes_reportable(void)
{
	return XP_NOTES_WRITTEN | XPOLL_NOTE_DELETE | XPOLL_NOTE_ATTRIB |
		XPOLL_NOTE_LINK | XPOLL_NOTE_RENAME | XPOLL_NOTE_REVOKE;
}

static uint64_t path_hash(const WCHAR *path)
{
	return xp_inode_hash(XP_INODE_HASH, path, wcslen(path) * sizeof *path);
}

/* Store the present path of an open file.  Returns 0; -ENOTSUP: too long; or another error. */
static int path_get(int fd, WCHAR *path)
{
	DWORD length = GetFinalPathNameByHandleW(xp_nt_handle(fd), path,
	                                         CHANGE_PATH_MOST, 0);

	if (length == 0)
		return xp_nt_to_errno(GetLastError());
	return length < CHANGE_PATH_MOST ? 0 : -ENOTSUP;
}

static HANDLE directory_change_handle(const struct xp_inode *inode)
{
	return xp_nt_handle(inode->watch.fd);
}

/* Returns true if the file's path has changed since the last call; false for a deleted file. */
static bool path_has_changed(struct xp_inode_user *user, const struct stat *now)
{
	WCHAR path[CHANGE_PATH_MOST];

	if (now->st_nlink == 0 || path_get(user->fd, path) < 0 ||
	    path_hash(path) == user->path_hash)
		return false;
	user->path_hash = path_hash(path);
	return true;
}

/* A change handle is signalled: compare all watched files in the directory. */
static void directory_changed(struct xpoll *queue, struct xp_source_fd *watch)
{
	struct xp_inode *inode = XP_CONTAINER_OF(watch, struct xp_inode, watch);
	struct xp_inodes *inodes = inode->inodes;

	XP_ASSERT(!xp_list_empty(&inode->links));
	/* Rearm the handle before the comparison, so that later changes signal it again. */
	(void)FindNextChangeNotification(directory_change_handle(inode));
	XP_LIST_EACH(struct xp_inode_link, link, &inode->links, item)
		xp_inode_report(inodes, link->user, XP_REPORT_COMPARE);
	inodes->watch.ready(queue, &inodes->watch);
}

/* --- Directories ------------------------------------------------------------ */

/* Open the change handle of a directory, and have the queue watch it. */
static int directory_watch(struct xpoll *queue, struct xp_inode *inode)
{
	HANDLE change = FindFirstChangeNotificationW(inode->path, FALSE,
	                                             CHANGE_KINDS);
	int rc;

	if (change == INVALID_HANDLE_VALUE)
		return -ENOTSUP;
	inode->watch.fd = xp_fd_number((uintptr_t)change);
	inode->watch.ready = directory_changed;
	rc = inode->watch.fd < 0 ? -EMFILE : xp_host.watch(queue, &inode->watch);
	if (rc < 0)
		(void)FindCloseChangeNotification(change);
	return rc;
}

static int directory_make(struct xpoll *queue, struct xp_inodes *inodes,
                          const WCHAR *path, struct xp_inode **made)
{
	size_t size = (wcslen(path) + 1) * sizeof *path;
	struct xp_inode *inode = xp_zalloc(sizeof *inode + size);
	int rc;

	if (!inode)
		return -ENOMEM;
	memcpy(inode->path, path, size);
	inode->item.ident = path_hash(path);
	inode->inodes = inodes;
	xp_list_init(&inode->links);
	rc = xp_regmap_add(&inodes->map, &inode->item, 0);
	if (rc == 0) {
		rc = directory_watch(queue, inode);
		if (rc < 0)
			xp_regmap_remove(&inodes->map, &inode->item, 0);
	}
	if (rc < 0)
		xp_free(inode);
	else
		*made = inode;
	return rc;
}

static void directory_free(struct xp_inode *inode)
{
	(void)FindCloseChangeNotification(directory_change_handle(inode));
	xp_free(inode);
}

static void directory_drop(struct xp_inodes *inodes, struct xp_inode *inode)
{
	XP_ASSERT(xp_list_empty(&inode->links));
	xp_host.unwatch(inodes->queue, &inode->watch);
	xp_regmap_remove(&inodes->map, &inode->item, 0);
	directory_free(inode);
}

/* Add a user's link to the directory of this path, which is watched from now on. */
static int directory_join(struct xpoll *queue, struct xp_inodes *inodes,
                          struct xp_inode_link *link, const WCHAR *path)
{
	struct xp_inode *inode = xp_inode_find(inodes, path_hash(path));
	int rc = 0;

	if (inode && wcscmp(inode->path, path) != 0)
		return -ENOTSUP; /* two paths have the same hash */
	if (!inode)
		rc = directory_make(queue, inodes, path, &inode);
	if (rc < 0)
		return rc;
	link->inode = inode;
	xp_list_append(&inode->links, &link->item);
	return 0;
}

static void directory_leave(struct xp_inodes *inodes,
                            struct xp_inode_link *link)
{
	struct xp_inode *inode = link->inode;

	if (!inode)
		return;
	link->inode = NULL;
	xp_list_remove(&link->item);
	if (xp_list_empty(&inode->links))
		directory_drop(inodes, inode);
}

/* --- Users ------------------------------------------------------------------ */

/*
 * Remove the last component of a path.  Returns false for the root of a volume, such as "\\?\C:\":
 * the prefix "\\?\C:", of 6 characters, is no component.
 */
static bool path_cut_last(WCHAR *path)
{
	WCHAR *last = wcsrchr(path, L'\\');

	if (!last || last[1] == L'\0' || last < path + 6)
		return false;
	/* The path of a volume's root ends with a backslash: keep that one. */
	last[last[-1] == L':' ? 1 : 0] = L'\0';
	return true;
}

int xp_inode_join(struct xpoll *queue, struct xp_inodes *inodes,
                  struct xp_inode_user *user)
{
	WCHAR path[CHANGE_PATH_MOST];
	int rc;

	if (user->notes & ~xp_inodes_reportable())
		return -ENOTSUP;
	if (user->self.inode)
		return xp_inode_needs_polling(user);
	rc = path_get(user->fd, path);
	if (rc < 0)
		return -ENOTSUP;
	user->path_hash = path_hash(path);
	inodes->renamed = path_has_changed;
	/*
	 * For a directory, the directory's own change handle reports changes of entries, and the
	 * parent's change handle reports all other changes.
	 */
	if (S_ISDIR(user->last.st_mode)) {
		rc = directory_join(queue, inodes, &user->self, path);
		if (rc == 0 && path_cut_last(path))
			rc = directory_join(queue, inodes, &user->above, path);
	} else {
		rc = path_cut_last(path)
			? directory_join(queue, inodes, &user->self, path)
			: -ENOTSUP;
	}
	if (rc < 0)
		xp_inode_leave(inodes, user);
	XP_ASSERT(rc == 0 || !user->self.inode);
	return rc < 0 ? rc : xp_inode_needs_polling(user);
}

int xp_inode_follow_rename(struct xp_inodes *inodes, struct xp_inode_user *user)
{
	xp_inode_leave(inodes, user);
	return xp_inode_join(inodes->queue, inodes, user) == 0 ? 1 : -ENOTSUP;
}

void xp_inode_leave(struct xp_inodes *inodes, struct xp_inode_user *user)
{
	directory_leave(inodes, &user->self);
	directory_leave(inodes, &user->above);
}

/* Does nothing: the queue watches the change handle of each directory (directory_changed). */
void xp_inodes_harvest(struct xp_inodes *inodes)
{
	(void)inodes;
}

void xp_inodes_close(struct xp_inodes *inodes)
{
	struct xp_inode *inode;

	for (size_t at = 0; (inode = xp_inode_walk(inodes, &at));)
		directory_free(inode);
}
