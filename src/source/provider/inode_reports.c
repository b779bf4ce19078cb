/* What inotify(7) reports, as notes for those who want to know. */
#include <string.h>
#include <sys/inotify.h>

#include "base/compiler.h"
#include "os/sys.h"
#include "source/provider/inode_inotify.h"

enum {
	HARVEST_BYTES = 8192,
	/* Reads in a row; a busy writer must not keep the lock for ever. */
	HARVEST_READS = 64,
	/* Reports that nobody wants, in a row, until the mask is narrowed. */
	USELESS_MOST = 8,
};

/* Some of an instance's reports, as they were read. */
struct reports {
	_Alignas(struct inotify_event) char bytes[HARVEST_BYTES];
	size_t len;
};

/* The other half of a rename within one directory. */
static bool moved_within(const struct reports *reports,
                         const struct inotify_event *half)
{
	for (size_t at = 0; at < reports->len;) {
		const struct inotify_event *other =
			(const void *)(reports->bytes + at);

		if (other != half && other->wd == half->wd &&
		    other->cookie == half->cookie &&
		    other->mask & (IN_MOVED_FROM | IN_MOVED_TO))
			return true;
		at += sizeof *other + other->len;
	}
	return false;
}

/* What happened to an entry of a directory, as FreeBSD notes it. */
static uint32_t notes_of_entry(const struct reports *reports,
                               const struct inotify_event *event)
{
	bool directory = event->mask & IN_ISDIR;
	uint32_t notes = XPOLL_NOTE_WRITE;

	if (event->mask & (IN_CREATE | IN_DELETE))
		return directory ? notes | XPOLL_NOTE_LINK : notes;
	if (!(event->mask & (IN_MOVED_FROM | IN_MOVED_TO)))
		return 0; /* It was opened, read: its own affair. */
	if (moved_within(reports, event))
		return notes;
	notes |= XPOLL_NOTE_EXTEND;
	return directory ? notes | XPOLL_NOTE_LINK : notes;
}

static uint32_t notes_of_itself(uint32_t mask)
{
	static const struct {
		uint32_t mask;
		uint32_t note;
	} table[] = {
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
	uint32_t notes = 0;

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (mask & table[i].mask)
			notes |= table[i].note;
	return notes;
}

/* Report to the link; was it of use? */
static bool link_reported(struct xp_inodes *inodes, struct xp_inode_link *link,
                          uint32_t mask, uint32_t notes)
{
	struct xp_inode_user *user = link->user;
	bool wanted = mask & xp_link_mask(link);

	if (xp_link_is_above(link))
		notes = XPOLL_NOTE_DELETE;
	else if (!user->ops->listens(inodes->queue, user))
		user->ignored |= notes;
	if (notes)
		xp_inode_report(inodes, user, notes);
	return wanted;
}

static void inode_reported(struct xp_inodes *inodes, struct xp_inode *inode,
                           const struct reports *reports,
                           const struct inotify_event *event)
{
	uint32_t notes = event->len ? notes_of_entry(reports, event)
		: notes_of_itself(event->mask);
	struct xp_list *item = inode->links.next;
	bool wanted = false;

	while (item != &inode->links) {
		struct xp_inode_link *link =
			XP_CONTAINER_OF(item, struct xp_inode_link, item);

		item = item->next;
		if (link_reported(inodes, link, event->mask, notes))
			wanted = true;
		if (event->mask & IN_IGNORED) {
			link->inode = NULL;
			xp_list_remove(&link->item);
		}
	}
	inode->useless = wanted ? 0 : inode->useless + 1;
	if (event->mask & IN_IGNORED)
		xp_inode_free(inodes, inode);
	else if (inode->useless >= USELESS_MOST)
		xp_inode_narrow(inodes, inode);
}

/* The kernel's own queue was full: anything may have happened. */
static void all_lost(struct xp_inodes *inodes)
{
	struct xp_list *lists[] = {&inodes->reported, &inodes->timed};

	for (int i = 0; i < 2; i++) {
		struct xp_list *item = lists[i]->next;

		for (; item != lists[i]; item = item->next)
			xp_inode_report(inodes,
			                XP_CONTAINER_OF(item, struct xp_inode_user,
			                                all),
			                XP_REPORT_LOST);
	}
}

static void reports_read(struct xp_inodes *inodes, const struct reports *reports)
{
	for (size_t at = 0; at < reports->len;) {
		const struct inotify_event *event =
			(const void *)(reports->bytes + at);
		struct xp_inode *inode = xp_inode_find(inodes, event->wd);

		if (event->mask & IN_Q_OVERFLOW)
			all_lost(inodes);
		else if (inode) /* Else it has just been removed. */
			inode_reported(inodes, inode, reports, event);
		at += sizeof *event + event->len;
	}
}

/*
 * A rename within a directory is reported in two halves, one behind the other.
 * Where does the last report begin, if it is the first of them?
 */
static size_t half_at_end(const struct reports *reports)
{
	const struct inotify_event *last = NULL;
	size_t end = 0;

	for (size_t at = 0; at < reports->len;) {
		last = (const void *)(reports->bytes + at);
		end = at;
		at += sizeof *last + last->len;
	}
	return last && last->mask & IN_MOVED_FROM ? end : reports->len;
}

/* A half at the end waits for what is read next. */
void xp_inodes_harvest(struct xp_inodes *inodes)
{
	struct reports reports;
	size_t kept = 0;

	for (int i = 0; i < HARVEST_READS || kept > 0; i++) {
		int rc = i < HARVEST_READS
			? xp_sys_read(inodes->watch.fd, reports.bytes + kept,
		                      sizeof reports.bytes - kept) : 0;
		size_t len = kept + (rc > 0 ? (size_t)rc : 0);

		if (len == 0)
			return;
		reports.len = len;
		reports.len = rc > 0 ? half_at_end(&reports) : len;
		reports_read(inodes, &reports);
		kept = len - reports.len;
		memmove(reports.bytes, reports.bytes + reports.len, kept);
	}
}
