/* Reads reports of inotify(7), and passes them to the users of each inode as notes. */
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "linux/inode_inotify.h"
#include "linux/sys_linux.h"
#include "sys/sys.h"

enum {
	READ_BYTES = 4096,
	/*
	 * Bytes of the longest report.  If a read leaves at least this much of its buffer free,
	 * that read has got all reports.
	 */
	REPORT_MOST = sizeof(struct inotify_event) + NAME_MAX + 1,
	/* Room for one read, and for reports of the previous read that were held back. */
	HARVEST_BYTES = 2 * READ_BYTES,
	/*
	 * The most reads in a row (one more if reports were held back), so that a busy writer
	 * cannot make this thread keep the queue's lock.
	 */
	HARVEST_READS = 128,
	/*
	 * After this number of reports in a row that no user wanted, xp_inode_narrow makes the
	 * inode's mask smaller.
	 */
	USELESS_MOST = 8,
	OVERLONG_NAME_LEN = 300, /* longer than a name may be in any file system */
};

/*
 * Flag that this file sets in both reports of a rename within one directory; the kernel does not
 * use the bit.
 */
#define RENAMED_WITHIN 0x00010000u

/* Reports of an inotify instance, as read(2) stored them. */
struct reports {
	_Alignas(struct inotify_event) char bytes[HARVEST_BYTES];
	size_t len;
};

/*
 * `half` is the first report of a rename.  If the second one is among the reports and for the same
 * directory, set RENAMED_WITHIN in both and return true.
 */
static bool mark_rename_within(struct reports *reports, struct inotify_event *half)
{
	size_t at = (size_t)((char *)half - reports->bytes);

	XP_ASSERT(at < reports->len);
	while (at < reports->len) {
		struct inotify_event *other = (void *)(reports->bytes + at);

		if (other->wd == half->wd && other->cookie == half->cookie &&
		    other->mask & IN_MOVED_TO) {
			half->mask |= RENAMED_WITHIN;
			other->mask |= RENAMED_WITHIN;
			return true;
		}
		at += sizeof *other + other->len;
	}
	return false;
}

/*
 * Returns the notes that FreeBSD's kqueue gives a directory for a change of one of its entries;
 * mask: inotify's event of the change.
 */
static uint32_t notes_of_entry(uint32_t mask)
{
	bool directory = mask & IN_ISDIR;
	uint32_t notes = XPOLL_NOTE_WRITE;

	if (mask & (IN_CREATE | IN_DELETE))
		return directory ? notes | XPOLL_NOTE_LINK : notes;
	if (!(mask & (IN_MOVED_FROM | IN_MOVED_TO)))
		return 0; /* opening or reading an entry does not change the directory */
	if (mask & RENAMED_WITHIN)
		return notes;
	notes |= XPOLL_NOTE_EXTEND;
	return directory ? notes | XPOLL_NOTE_LINK : notes;
}

/* Report notes to the user of a link.  Returns true if the link's mask has the event `mask`. */
static bool link_report_event(struct xp_inodes *inodes, struct xp_inode_link *link,
                              uint32_t mask, uint32_t notes)
{
	struct xp_inode_user *user = link->user;
	bool wanted = mask & xp_link_mask(link);

	if (xp_link_is_above(link))
		notes = XPOLL_NOTE_DELETE;
	else if (!user->ops->wants_reports(inodes->queue, user))
		user->suppressed |= notes;
	if (notes)
		xp_inode_report(inodes, user, notes);
	return wanted;
}

/*
 * Report an event to all users of an inode.  IN_IGNORED: the kernel has ended the watch, so free
 * the inode.
 */
static void inode_report_event(struct xp_inodes *inodes, struct xp_inode *inode,
                               const struct inotify_event *event)
{
	uint32_t notes = event->len ? notes_of_entry(event->mask)
		: xp_notes_of_itself(event->mask);
	struct xp_list *item = inode->links.next;
	bool wanted = false;

	if (item == &inode->links) {
		/*
		 * No user has a link to this inode, so it is the spare one, kept for a user that
		 * comes back: give up the inode, because that user must not get this report of an
		 * earlier change.
		 */
		(void)xp_inode_drop_spare(inodes);
		return;
	}
	while (item != &inode->links) {
		struct xp_inode_link *link =
			XP_CONTAINER_OF(item, struct xp_inode_link, item);

		item = item->next;
		if (link_report_event(inodes, link, event->mask, notes))
			wanted = true;
		if (event->mask & IN_IGNORED) {
			link->inode = NULL;
			xp_list_remove(&link->item);
		}
	}
	inode->useless = wanted ? 0 : inode->useless + 1;
	if (event->mask & IN_IGNORED)
		xp_inode_recycle(inodes, inode);
	else if (inode->useless >= USELESS_MOST)
		xp_inode_narrow(inodes, inode);
}

/* The kernel's queue of reports overflowed: report a loss to all users. */
static void report_loss_to_all(struct xp_inodes *inodes)
{
	struct xp_list *lists[] = {&inodes->kernel_watched, &inodes->timed};

	/*
	 * Give up the spare inode, which is kept for a user that comes back: the kernel may have
	 * ended its watch, and the report of that (IN_IGNORED) may be lost.
	 */
	(void)xp_inode_drop_spare(inodes);
	for (int i = 0; i < 2; i++)
		XP_LIST_EACH(struct xp_inode_user, user, lists[i], list_item)
			xp_inode_report(inodes, user, XP_REPORT_LOST);
}

/* Handle the reports up to the offset `end`. */
static void reports_handle(struct xp_inodes *inodes, const struct reports *reports,
                           size_t end)
{
	XP_ASSERT(end <= reports->len);
	for (size_t at = 0; at < end;) {
		const struct inotify_event *event =
			(const void *)(reports->bytes + at);
		struct xp_inode *inode = xp_inode_find(inodes, (uint64_t)event->wd);

		if (event->mask & IN_Q_OVERFLOW)
			report_loss_to_all(inodes);
		else if (inode) /* if not found, the watch was removed after this report */
			inode_report_event(inodes, inode, event);
		at += sizeof *event + event->len;
	}
}

/*
 * Wait until the kernel has reported both halves of all renames that have begun in the directory
 * with this watch number.  The kernel holds a lock of the directory during a rename, and also to
 * look up a name, which this function does.
 */
static void dir_sleep_until_renamed(struct xp_inodes *inodes, int number)
{
	struct xp_inode *inode = xp_inode_find(inodes, (uint64_t)number);
	char path[XP_FD_PATH_SIZE + OVERLONG_NAME_LEN];
	size_t len;

	if (!inode)
		return;
	XP_LIST_EACH(struct xp_inode_link, link, &inode->links, item) {
		if (xp_link_is_above(link))
			continue;
		/*
		 * Looking up a name waits for the directory's lock, which the kernel holds until
		 * both halves of a rename are reported.  Use a name that is too long to exist: for
		 * such a name the kernel cannot answer without the lock, from its cache of missing
		 * names.
		 */
		len = xp_fd_path(path, link->user->fd, "");
		memset(path + len, 'x', OVERLONG_NAME_LEN);
		path[len] = '/';
		path[len + OVERLONG_NAME_LEN - 1] = '\0';
		(void)xp_sys_readlink(path, path, 1);
		return;
	}
}

/*
 * The kernel reports a rename within a directory as two halves, one soon after the other, and a
 * read may come between them.  Returns the offset of the first report, from `from` on, that is a
 * first half without its second one; if there is none, the end.  Waits until the renames of these
 * halves have ended, so the next read has the second halves, unless the rename was to another
 * directory.
 */
static size_t reports_pair_renames(struct xp_inodes *inodes, struct reports *reports, size_t from)
{
	size_t first = reports->len;
	int awaited = -1;

	for (size_t at = 0; at < reports->len;) {
		struct inotify_event *half = (void *)(reports->bytes + at);

		if (half->mask & IN_MOVED_FROM && !mark_rename_within(reports, half) &&
		    at >= from) {
			if (half->wd != awaited)
				dir_sleep_until_renamed(inodes, half->wd);
			awaited = half->wd;
			first = at < first ? at : first;
		}
		at += sizeof *half + half->len;
	}
	return first;
}

/*
 * Read and handle all reports, by at most HARVEST_READS reads, or one more if reports are held back
 * then.  A first half of a rename without its second half, and all reports after it, are held back
 * until the next read.
 */
void xp_inodes_harvest(struct xp_inodes *inodes)
{
	struct reports reports;
	size_t kept = 0;
	size_t ready;

	inodes->removed = 0;
	for (int i = 0; i < HARVEST_READS || kept > 0; i++) {
		int rc = xp_sys_read(inodes->watch.fd, reports.bytes + kept,
		                     READ_BYTES);
		size_t len = kept + (rc > 0 ? (size_t)rc : 0);

		XP_ASSERT(kept <= READ_BYTES && len <= HARVEST_BYTES);
		if (len == 0)
			return;
		reports.len = len;
		ready = reports_pair_renames(inodes, &reports, kept);
		if (i >= HARVEST_READS)
			ready = len;
		reports_handle(inodes, &reports, ready);
		kept = len - ready;
		memmove(reports.bytes, reports.bytes + ready, kept);
		if (kept == 0 && rc <= READ_BYTES - REPORT_MOST)
			return;
	}
	/*
	 * Give up the spare inode, which is kept for a user that comes back: unread reports may be
	 * about it, and that user must not get them.
	 */
	(void)xp_inode_drop_spare(inodes);
}
