/*
 * Watches files for VNODE by inotify(7): one instance per queue, and one watch per inode, however
 * many descriptors and names refer to it.
 *
 * A watch is added by the name /proc/self/fd/N, so it is for the open file and not for a path.
 * inotify does not report that an open directory was removed, but its parent directory does:
 * therefore the parent is watched, too.
 */
#include "linux/inode_inotify.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/time.h"
#include "linux/sys_linux.h"
#include "sys/fskind.h"
#include "sys/sys.h"

/* Upper bound of the clock tick in which file times advance, on kernels with coarse file times. */
#define CLOCK_TICK_NS (20 * XP_NS_PER_MS)

/* Events that a comparison of two results of fstat(2) does not show. */
#define IN_PASSING (IN_OPEN | IN_CLOSE_NOWRITE | IN_CLOSE_WRITE | IN_ACCESS)
#define IN_ENTRIES (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
#define ALL_NOTES (XPOLL_NOTE_DELETE | XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND | XPOLL_NOTE_ATTRIB | \
                   XPOLL_NOTE_LINK | XPOLL_NOTE_RENAME | \
                   XPOLL_NOTE_REVOKE | XPOLL_NOTE_OPEN | XPOLL_NOTE_CLOSE | \
                   XPOLL_NOTE_CLOSE_WRITE | XPOLL_NOTE_READ | XPOLL_NOTE_TRUNCATE)

/* Store the /proc path of the file or parent that the link watches.  Returns the path's length. */
static size_t link_proc_path(const struct xp_inode_link *link, char *path)
{
	return xp_fd_path(path, link->user->fd, xp_link_is_above(link) ? "/.." : "");
}

/*
 * Returns true if the parent of the user's directory has to be watched: only the parent reports the
 * removal.  The directory's own moves are watched then, too, because they change the parent.
 */
static bool wants_parent_watch(const struct xp_inode_user *user)
{
	return user->notes & XPOLL_NOTE_DELETE && S_ISDIR(user->last.st_mode);
}

/* Events about the watched file itself, and their notes. */
static const struct {
	uint32_t mask;
	uint32_t note;
} of_itself[] = {
	{IN_MODIFY, XPOLL_NOTE_WRITE},
	{IN_ATTRIB, XPOLL_NOTE_ATTRIB},
	{IN_MOVE_SELF, XPOLL_NOTE_RENAME},
	{IN_UNMOUNT, XPOLL_NOTE_REVOKE},
	{IN_OPEN, XPOLL_NOTE_OPEN},
	{IN_CLOSE_NOWRITE, XPOLL_NOTE_CLOSE},
	{IN_CLOSE_WRITE, XPOLL_NOTE_CLOSE_WRITE},
	{IN_ACCESS, XPOLL_NOTE_READ},
	{IN_IGNORED, XP_REPORT_ENDED},
};

uint32_t xp_notes_of_itself(uint32_t mask)
{
	uint32_t notes = 0;

	for (size_t i = 0; i < sizeof of_itself / sizeof *of_itself; i++)
		if (mask & of_itself[i].mask)
			notes |= of_itself[i].note;
	return notes;
}

/* Returns the inotify events to request for these notes. */
static uint32_t mask_from_notes(uint32_t notes)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < sizeof of_itself / sizeof *of_itself; i++)
		if (notes & of_itself[i].note)
			mask |= of_itself[i].mask;
	return mask & IN_ALL_EVENTS;
}

/* Returns the events that the user's requested notes need. */
static uint32_t mask_of_user(const struct xp_inode_user *user)
{
	uint32_t notes = user->notes;
	uint32_t mask = IN_DELETE_SELF | mask_from_notes(notes);

	if (notes & (XPOLL_NOTE_DELETE | XPOLL_NOTE_LINK))
		mask |= IN_ATTRIB;
	if (wants_parent_watch(user))
		mask |= IN_MOVE_SELF;
	if (S_ISDIR(user->last.st_mode)) {
		/* for a directory IN_MODIFY would report writes to the files in it */
		mask &= ~(uint32_t)IN_MODIFY;
		if (notes & (XPOLL_NOTE_WRITE | XPOLL_NOTE_LINK))
			mask |= IN_ENTRIES;
		if (notes & XPOLL_NOTE_EXTEND)
			mask |= IN_MOVED_FROM | IN_MOVED_TO;
	} else if (notes & (XPOLL_NOTE_EXTEND | XPOLL_NOTE_TRUNCATE)) {
		mask |= IN_MODIFY;
	}
	return mask;
}

/*
 * Returns the events to leave out of the user's mask: their notes were reported while the user did
 * not listen.  Changes of links and size are not lost, because fstat(2) shows them when the user
 * listens again.
 */
static uint32_t mask_of_ignored(const struct xp_inode_user *user)
{
	uint32_t mask = mask_from_notes(user->suppressed);

	if (wants_parent_watch(user))
		mask &= ~(uint32_t)IN_MOVE_SELF;
	if (user->suppressed & XPOLL_NOTE_WRITE && !(user->notes & ~user->suppressed &
	                                             (XPOLL_NOTE_EXTEND | XPOLL_NOTE_LINK)))
		mask |= IN_ENTRIES;
	return mask;
}

uint32_t xp_link_mask(const struct xp_inode_link *link)
{
	if (xp_link_is_above(link))
		return IN_DELETE;
	return mask_of_user(link->user) & ~mask_of_ignored(link->user);
}

/* Returns the events that all links of the inode need. */
static uint32_t mask_of_inode(struct xp_inode *inode)
{
	uint32_t mask = 0;

	XP_LIST_EACH(struct xp_inode_link, link, &inode->links, item)
		mask |= xp_link_mask(link);
	return mask;
}

/* Open the queue's inotify instance, unless it is open. */
static int instance_open(struct xpoll *queue, struct xp_inodes *inodes)
{
	int fd;

	if (inodes->watch.fd >= 0)
		return 0;
	fd = xp_sys_inotify_open();
	/* The kernel lacks inotify, or a sandbox refuses the call. */
	if (fd == -ENOSYS || fd == -EPERM || fd == -EACCES)
		return -ENOTSUP;
	return xp_inodes_adopt_fd(queue, inodes, fd);
}

/*
 * Reserve memory, so that the pool has inodes for `links` links of this user and the map has room.
 */
static int inodes_reserve(struct xp_inodes *inodes, struct xp_inode_user *user, int links)
{
	while (user->reserved_inodes < links) {
		struct xp_inode *inode = xp_zalloc(sizeof *inode);

		if (!inode || xp_regmap_reserve(&inodes->map, inodes->inode_count + 1) < 0) {
			xp_free(inode);
			return -ENOMEM;
		}
		xp_list_append(&inodes->pool, &inode->links);
		inodes->inode_count++;
		user->reserved_inodes++;
	}
	return 0;
}

/* Free the inodes that were reserved for a user. */
static void inodes_unreserve(struct xp_inodes *inodes, struct xp_inode_user *user)
{
	struct xp_list *item;

	while (user->reserved_inodes > 0 && (item = xp_list_take(&inodes->pool)) != NULL) {
		xp_free(XP_CONTAINER_OF(item, struct xp_inode, links));
		inodes->inode_count--;
		user->reserved_inodes--;
	}
	XP_ASSERT(user->reserved_inodes == 0);
}

/*
 * Returns the inode with this watch number; takes a new one from the pool and adds it to the map if
 * there is none.
 */
static struct xp_inode *inode_find_or_add(struct xp_inodes *inodes, int number)
{
	struct xp_inode *inode = xp_inode_find(inodes, (uint64_t)number);

	if (inode)
		return inode;
	XP_ASSERT(!xp_list_empty(&inodes->pool));
	inode = XP_CONTAINER_OF(inodes->pool.next, struct xp_inode, links);
	xp_list_remove(&inode->links);
	inode->item.ident = (uint64_t)number;
	inode->mask = 0;
	inode->useless = 0;
	(void)xp_regmap_add(&inodes->map, &inode->item, 0); /* the map has room: inodes_reserve */
	return inode;
}

/* Remove an inode without links from the map, and return it to the pool. */
void xp_inode_recycle(struct xp_inodes *inodes, struct xp_inode *inode)
{
	XP_ASSERT(xp_list_empty(&inode->links));
	xp_regmap_remove(&inodes->map, &inode->item, 0);
	xp_list_append(&inodes->pool, &inode->links);
}

bool xp_inode_drop_spare(struct xp_inodes *inodes)
{
	struct xp_inode *inode = inodes->spare;

	if (!inode)
		return false;
	(void)xp_sys_inotify_remove(inodes->watch.fd, (int)inode->item.ident);
	inodes->removed++;
	xp_regmap_remove(&inodes->map, &inode->item, 0);
	xp_free(inode);
	inodes->inode_count--;
	inodes->spare = NULL;
	return true;
}

/*
 * If the leaving user is the inode's only one, keep the inode as the spare one, which the kernel
 * still watches, for a user that comes back; but not if the file's birth is unknown: a later file
 * could be mistaken for this one.  Returns true if kept.
 */
static bool spare_keep(struct xp_inodes *inodes, struct xp_inode_user *user)
{
	struct xp_list *item = &user->self.item;

	if (!user->self.inode || item->next != item->prev || user->born_ns == 0)
		return false;
	(void)xp_inode_drop_spare(inodes);
	inodes->spare = user->self.inode;
	inodes->spare_device = user->last.st_dev;
	inodes->spare_number = user->last.st_ino;
	inodes->spare_born_ns = user->born_ns;
	user->self.inode = NULL;
	user->reserved_inodes--;
	xp_list_remove(item);
	return true;
}

/* A user has taken the spare inode: free the one that was reserved for the user in the pool. */
static void spare_used(struct xp_inodes *inodes)
{
	xp_free(XP_CONTAINER_OF(xp_list_take(&inodes->pool), struct xp_inode, links));
	inodes->inode_count--;
	inodes->spare = NULL;
}

/*
 * Make the kernel watch the link's file, or add the link's mask to the watch.  Returns the watch
 * number, or an error.
 */
static int link_watch(struct xp_inodes *inodes, struct xp_inode_link *link)
{
	char path[XP_FD_PATH_SIZE];
	int rc;

	link_proc_path(link, path);
	do
		rc = xp_sys_inotify_add(inodes->watch.fd, path, xp_link_mask(link) | IN_MASK_ADD);
	while (rc == -ENOSPC && xp_inode_drop_spare(inodes));
	/* No permission to read the file, or a sandbox refuses the call. */
	if (rc == -EACCES || rc == -ENOSYS)
		return -EPERM;
	/* The descriptor is open, so ENOENT and ENOTDIR mean that /proc is missing. */
	return rc == -ENOENT || rc == -ENOTDIR ? -ENOTSUP : rc;
}

/* Remove a watch that was added for a wrong inode, unless another user of the queue needs it. */
static void undo_wrong_watch(struct xp_inodes *inodes, int number)
{
	if (number >= 0 && !xp_inode_find(inodes, (uint64_t)number))
		(void)xp_sys_inotify_remove(inodes->watch.fd, number);
}

/* Disconnect a link from its inode, and end the kernel's watch if this was the last link. */
static void link_leave(struct xp_inodes *inodes, struct xp_inode_link *link)
{
	struct xp_inode *inode = link->inode;

	if (!inode)
		return;
	link->inode = NULL;
	xp_list_remove(&link->item);
	if (!xp_list_empty(&inode->links))
		return;
	(void)xp_sys_inotify_remove(inodes->watch.fd, (int)inode->item.ident);
	inodes->removed++;
	xp_inode_recycle(inodes, inode);
}

/*
 * Watch the link's file, and connect the link to its inode.  -ESTALE: the link was connected to
 * another inode, so the descriptor was reused; the link is disconnected.
 */
static int link_join(struct xp_inodes *inodes, struct xp_inode_link *link)
{
	struct xp_inode *inode = inodes->spare;
	/*
	 * `spare` is an inode that has no user any more, but is still watched by the kernel.  If
	 * that is the inode of the link's file, and the watch has all events that the link needs,
	 * take the number of that watch instead of making one.
	 */
	bool watched = !link->inode && !xp_link_is_above(link) &&
		xp_inode_is_spare(inodes, link->user) && !(xp_link_mask(link) & ~inode->mask);
	int number = watched ? (int)inode->item.ident : link_watch(inodes, link);

	if (number < 0)
		return number;
	if (link->inode && link->inode->item.ident != (uint64_t)number) {
		undo_wrong_watch(inodes, number);
		link_leave(inodes, link);
		return -ESTALE;
	}
	inode = inode_find_or_add(inodes, number);
	if (inode == inodes->spare)
		spare_used(inodes);
	inode->mask |= xp_link_mask(link);
	inode->useless = 0;
	if (!link->inode) {
		link->inode = inode;
		xp_list_append(&inode->links, &link->item);
	}
	return 0;
}

/*
 * Returns true for memory files without a name (memfd_create(2)): the kernel accepts a watch of
 * such a file, but never reports anything.
 */
static bool is_never_reported(const struct xp_inode_user *user)
{
	static const char silent[] = "/memfd:";
	char path[XP_FD_PATH_SIZE];
	char name[sizeof silent];

	if (user->last.st_nlink > 0 || !S_ISREG(user->last.st_mode))
		return false;
	link_proc_path(&user->self, path);
	return xp_sys_readlink(path, name, sizeof name) >= (int)sizeof name - 1 &&
		memcmp(name, silent, sizeof silent - 1) == 0;
}

int xp_inode_join(struct xpoll *queue, struct xp_inodes *inodes,
                  struct xp_inode_user *user)
{
	bool joined = user->self.inode;
	int rc = is_never_reported(user) ? -ENOTSUP : instance_open(queue, inodes);

	if (rc == 0)
		rc = inodes_reserve(inodes, user, wants_parent_watch(user) ? 2 : 1);
	if (rc == 0)
		rc = link_join(inodes, &user->self);
	if (rc < 0) {
		if (!joined)
			xp_inode_leave(inodes, user);
		return rc;
	}
	return xp_inode_follow_rename(inodes, user) < 0;
}

int xp_inode_follow_rename(struct xp_inodes *inodes, struct xp_inode_user *user)
{
	int rc;

	link_leave(inodes, &user->above);
	if (!wants_parent_watch(user))
		return 0;
	if (xp_fs_is_mount_root(user->fd))
		return -ENOTSUP;
	rc = link_join(inodes, &user->above);
	return rc < 0 ? rc : 1;
}

void xp_inode_leave(struct xp_inodes *inodes, struct xp_inode_user *user)
{
	link_leave(inodes, &user->above);
	if (!spare_keep(inodes, user))
		link_leave(inodes, &user->self);
	inodes_unreserve(inodes, user);
}

static void inode_report(struct xp_inodes *inodes, struct xp_inode *inode,
                         uint32_t notes)
{
	XP_LIST_EACH(struct xp_inode_link, link, &inode->links, item)
		xp_inode_report(inodes, link->user, notes);
}

/*
 * xp_inode_narrow has given this inode another's mask, because a descriptor was reused: restore it
 * and report a loss to the users, or end the watch of the spare inode (kept without users).
 */
static void inode_repair_mask(struct xp_inodes *inodes, struct xp_inode *inode)
{
	if (xp_list_empty(&inode->links)) {
		(void)xp_inode_drop_spare(inodes);
		return;
	}
	XP_LIST_EACH(struct xp_inode_link, link, &inode->links, item)
		undo_wrong_watch(inodes, link_watch(inodes, link));
	inode_report(inodes, inode, XP_REPORT_LOST);
}

/* Returns true if this file time is so recent that a change now may set the same value again. */
static bool is_recent(const struct timespec *time)
{
	return xp_sys_realtime() - CLOCK_TICK_NS <
		time->tv_sec * XP_NS_PER_SEC + time->tv_nsec;
}

/*
 * Returns notes for changes that the kernel may not have reported while it replaced a mask: on
 * Linux 6.18, 38 of a million writes were lost.  A comparison of fstat(2) results shows changes,
 * except within one tick of the file's clock; there a write is assumed.
 */
static uint32_t unreported_notes(const struct stat *before, const struct stat *after)
{
	uint32_t notes = XP_REPORT_COMPARE;

	if (is_recent(&after->st_mtim))
		notes |= XPOLL_NOTE_WRITE;
	/* A write sets both times to the same value; if the times differ, assume a rename. */
	if (!xp_same_time(&before->st_ctim, &after->st_ctim) &&
	    !xp_same_time(&after->st_ctim, &after->st_mtim))
		notes |= XPOLL_NOTE_RENAME;
	return notes;
}

/*
 * The descriptor that names the inode belongs to the program, which may be reusing it for another
 * file at this time: so check afterwards which inode's mask the kernel has replaced.
 */
void xp_inode_narrow(struct xp_inodes *inodes, struct xp_inode *inode)
{
	uint32_t mask = mask_of_inode(inode);
	struct xp_inode_link *link =
		XP_CONTAINER_OF(inode->links.next, struct xp_inode_link, item);
	struct stat before;
	struct stat after;
	char path[XP_FD_PATH_SIZE];
	int number;

	inode->useless = 0;
	if (mask == inode->mask || mask & IN_PASSING || xp_link_is_above(link) ||
	    xp_inode_verify_fd(link->user) < 0 || xp_sys_fstat(link->user->fd, &before) < 0)
		return;
	link_proc_path(link, path);
	number = xp_sys_inotify_add(inodes->watch.fd, path, mask);
	if (number == (int)inode->item.ident) {
		inode->mask = mask;
		inode_report(inodes, inode,
		             xp_sys_fstat(link->user->fd, &after) < 0 ? XP_REPORT_LOST
		             : unreported_notes(&before, &after));
	} else if (number >= 0 && xp_inode_find(inodes, (uint64_t)number)) {
		inode_repair_mask(inodes, xp_inode_find(inodes, (uint64_t)number));
	} else {
		undo_wrong_watch(inodes, number);
	}
}

void xp_inodes_close(struct xp_inodes *inodes)
{
	struct xp_inode *inode;
	struct xp_list *unused;

	for (size_t at = 0; (inode = xp_inode_walk(inodes, &at));)
		xp_free(inode);
	while ((unused = xp_list_take(&inodes->pool)))
		xp_free(XP_CONTAINER_OF(unused, struct xp_inode, links));
}

uint32_t xp_inodes_reportable(void)
{
	char path[XP_FD_PATH_SIZE];
	char name[XP_FD_PATH_SIZE];
	int fd = xp_sys_inotify_open();
	int rc;

	/* If only descriptors or memory are lacking, the kernel does have inotify. */
	if (fd < 0)
		return fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM ? ALL_NOTES : 0;
	xp_fd_path(path, fd, "");
	rc = xp_sys_readlink(path, name, sizeof name);
	xp_sys_close(fd);
	return rc < 0 ? 0 : ALL_NOTES;
}
