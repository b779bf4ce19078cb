/*
 * Follows a tree on Linux by inotify(7), with one watch for each directory.
 *
 * A watch reports the names that appear and disappear in its directory, in the order in which they
 * do, and changes of the contents of its files; so a file needs neither a watch nor a descriptor.
 * The kernel has one watch for each inode.  Two known directories have the same watch if a link
 * leads to one of them, or if one was replaced while it was entered.  Then a report is applied to
 * the first of the two, and the second one is read and checked again.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "watch_inotify.h"

/* The longest wait for the second report of a rename after the first one. */
#define RENAME_WAIT_NS 5000000LL
/*
 * Each event of the queue leads to at most this many rounds before the program gets the changes: a
 * round handles the reports in the buffer, and further reports are read before the next one.  Reads
 * in handle_buffer, which look for the second report of a rename, are not counted.
 */
#define READS_MOST  8

/* Reports that were read; the members before the buffer are offsets in it. */
struct follow {
	size_t at, len;  /* begin and end of the reports that were not handled yet */
	/*
	 * while the timer TREE_SETTLE_TIMER runs: end of the reports that were in the buffer when
	 * it was set; one that begins a rename waits for the rename's second report until the timer
	 * expires
	 */
	size_t waiting_end;
	/*
	 * end of the reports that have waited until TREE_SETTLE_TIMER expired, and wait no longer
	 */
	size_t waited_end;
	_Alignas(struct inotify_event) char buffer[65536];
};

int xp_follow_open(struct xpoll_tree *tree)
{
	struct follow *follow = malloc(sizeof *follow);

	if (follow == NULL)
		return ENOMEM;
	follow->at = follow->len = follow->waiting_end = follow->waited_end = 0;
	tree->follow = follow;
	tree->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (tree->inotify < 0)
		return errno;
	return xp_tree_register(tree, (uint64_t)tree->inotify, XPOLL_FILT_READ, 0, NULL);
}

void xp_follow_close(struct xpoll_tree *tree)
{
	if (tree->inotify >= 0)
		close(tree->inotify); /* ends all watches */
	tree->inotify = -1;
	free(tree->follow);
	free(tree->watches);
}

/* --- Reports ----------------------------------------------------------------------- */

static struct inotify_event *report_at(struct follow *follow, size_t at)
{
	return (void *)(follow->buffer + at);
}

static size_t report_size(const struct inotify_event *report)
{
	return sizeof *report + report->len;
}

/*
 * Move the reports that were not handled to the start of the buffer, and read more.  Returns false
 * if there are no more, or if the buffer is full.
 */
static bool read_more_reports(struct xpoll_tree *tree)
{
	struct follow *follow = tree->follow;
	ssize_t count;

	memmove(follow->buffer, follow->buffer + follow->at, follow->len - follow->at);
	follow->len -= follow->at;
	follow->waiting_end -= follow->waiting_end < follow->at ? follow->waiting_end : follow->at;
	follow->waited_end -= follow->waited_end < follow->at ? follow->waited_end : follow->at;
	follow->at = 0;
	if (sizeof follow->buffer - follow->len < sizeof(struct inotify_event) + NAME_MAX + 1)
		return false;
	count = read(tree->inotify, follow->buffer + follow->len,
	             sizeof follow->buffer - follow->len);
	if (count <= 0)
		return false;
	follow->len += (size_t)count;
	return true;
}

/*
 * Returns the second report of the rename that `from` begins; NULL: that report is not in the
 * buffer.
 */
static struct inotify_event *find_rename_end(struct follow *follow,
                                             const struct inotify_event *from)
{
	for (size_t at = follow->at; at < follow->len;) {
		struct inotify_event *report = report_at(follow, at);

		if ((report->mask & IN_MOVED_TO) != 0 && report->cookie == from->cookie)
			return report;
		at += report_size(report);
	}
	return NULL;
}

/* Have a directory read again by the next xp_tree_check_due. */
static void schedule_rescan(struct xpoll_tree *tree, struct held *folder)
{
	folder->rescan = true;
	xp_tree_make_due(tree, folder);
}

/*
 * Returns true for a directory (is_folder); with XPOLL_TREE_LINKS also for a symbolic link to a
 * directory, and then sets node->is_link to true.
 */
static bool node_leads_to_folder(struct xpoll_tree *tree, struct node *node, bool is_folder)
{
	struct stat status;
	char *path;
	int rc;

	if (is_folder || (tree->options.flags & XPOLL_TREE_LINKS) == 0)
		return is_folder;
	path = xp_node_path(node);
	rc = path != NULL ? fstatat(tree->root_fd, path, &status, 0) : -1;
	free(path);
	if (rc < 0)
		schedule_rescan(tree, node->parent->held);   /* the known path may be out of date */
	node->is_link = rc == 0 && S_ISDIR(status.st_mode);
	return node->is_link;
}

/*
 * Handle a report that a name has appeared.  If a node of this name is known: `replaces` means that
 * the node's file is gone, so a new node takes its place; otherwise a reading of the directory has
 * found this entry before the report came.
 */
static void entry_appeared(struct xpoll_tree *tree, struct held *folder, const char *name,
                           bool is_folder, bool replaces)
{
	struct node *node = xp_node_find(tree, folder->node, name);

	if (node != NULL && !replaces)
		return;
	if (node != NULL)
		xp_node_remove(tree, node, true);
	node = xp_node_new(tree, folder->node, name);
	if (node == NULL || !xp_tree_found(tree, node, node_leads_to_folder(tree, node, is_folder)))
		schedule_rescan(tree, folder);
}

/* Handle a report that a name has disappeared. */
static void entry_disappeared(struct xpoll_tree *tree, struct held *folder, const char *name)
{
	struct node *node = xp_node_find(tree, folder->node, name);

	if (node != NULL)
		xp_node_remove(tree, node, true);
}

/*
 * Apply a rename to the known names.  Returns false if these contradict the report or memory is
 * lacking; then the caller handles the rename as a removal and a new entry.
 */
static bool move_entry(struct xpoll_tree *tree, struct node *node, struct held *to,
                       const char *name, bool is_folder)
{
	struct node *former = xp_node_find(tree, to->node, name);
	bool was_folder = node->is_folder && !node->is_link;
	char *path;

	if (was_folder != is_folder && (tree->options.flags & XPOLL_TREE_FLAT) == 0)
		return false;
	if (former == node)
		return true;
	if (former != NULL && xp_node_is_at_or_below(node, former))
		return false;
	path = xp_node_path(node);
	if (former != NULL)
		xp_node_remove(tree, former, true);
	if (!xp_node_move(tree, node, to->node, name)) {
		free(path);
		return false;
	}
	xp_change_append_rename(tree, path, node);
	if (node->is_folder && node->is_link)
		xp_tree_make_due(tree, node->held); /* a relative link may lead elsewhere now */
	return true;
}

/*
 * mate: the second report of a rename.  If the rename is one half of an exchange (renameat2(2)),
 * the next report with the name in `mate` begins the rename in the other direction.  Returns that
 * report; NULL: the rename is no exchange, or that report is not in the buffer.
 */
static struct inotify_event *find_reverse(struct follow *follow, struct inotify_event *mate)
{
	char *end = follow->buffer + follow->len;
	char *at = (char *)mate + report_size(mate);

	for (; at < end; at += report_size((void *)at)) {
		struct inotify_event *report = (void *)at;

		if ((report->mask & (NAME_EVENTS & ~IN_MOVE_SELF)) != 0 && report->wd == mate->wd &&
		    report->len > 0 && strcmp(report->name, mate->name) == 0)
			return (report->mask & IN_MOVED_FROM) != 0 ? report : NULL;
	}
	return NULL;
}

/* Returns true if the file system has this entry now, or if memory is lacking to find out. */
static bool name_is_there(const struct xpoll_tree *tree, const struct held *folder,
                          const char *name)
{
	char *path = xp_node_child_path(folder->node, name);
	struct stat status;
	bool result = path == NULL ||
		fstatat(tree->root_fd, path, &status, AT_SYMLINK_NOFOLLOW) == 0;

	free(path);
	return result;
}

/*
 * Called for a rename from report->name in `from` to mate->name in `to`, if there was another entry
 * at the new name, and the old name still exists.  So renameat2(2) may have exchanged the two
 * entries, which inotify reports as two renames, one in each direction.  Have both directories read
 * again.  If the unread reports contain the rename in the other direction (`reverse` and `other`),
 * then append the change that an entry has appeared at the old name, and clear the masks of these
 * two reports, so that they are skipped.
 */
static void entries_exchanged(struct xpoll_tree *tree, struct held *from, struct held *to,
                              const struct inotify_event *report, struct inotify_event *mate)
{
	struct inotify_event *reverse = find_reverse(tree->follow, mate), *other;

	schedule_rescan(tree, from);
	schedule_rescan(tree, to);
	if (reverse == NULL)
		return;
	other = find_rename_end(tree->follow, reverse);
	if (other == NULL || other->wd != report->wd || strcmp(other->name, report->name) != 0)
		return;
	entry_appeared(tree, from, report->name, (other->mask & IN_ISDIR) != 0, true);
	reverse->mask = other->mask = 0;
}

/* Handle the first report of a rename.  mate: the second one; NULL: the entry has left the tree. */
static void rename_entry(struct xpoll_tree *tree, struct held *from,
                         const struct inotify_event *report, struct inotify_event *mate)
{
	bool replaces;
	struct node *node = xp_node_find(tree, from->node, report->name);
	struct held *to = mate != NULL ? xp_watch_find(tree, mate->wd, NULL) : NULL;
	bool is_folder = (report->mask & IN_ISDIR) != 0;

	if (to != NULL && xp_tree_skips(tree, to->node, mate->name))
		to = NULL;
	if (to != NULL && node != NULL && xp_node_is_at_or_below(to->node, node))
		/*
		 * A directory cannot move into itself, so the known names are wrong: remove `node`.
		 */
		to = NULL;
	replaces = to != NULL && xp_node_find(tree, to->node, mate->name) != NULL;
	if (to != NULL && node != NULL && move_entry(tree, node, to, mate->name, is_folder)) {
		if (replaces && name_is_there(tree, from, report->name))
			entries_exchanged(tree, from, to, report, mate);
		return;
	}
	entry_disappeared(tree, from, report->name);
	if (to != NULL)
		entry_appeared(tree, to, mate->name, is_folder, true);
}

/* Handle a report about the contents or attributes of an entry, or of the directory itself. */
static void entry_changed(struct xpoll_tree *tree, struct held *folder,
                          const struct inotify_event *report)
{
	struct node *node = folder->node;
	uint32_t notes = xp_watch_notes(report->mask);

	if ((report->mask & IN_ISDIR) != 0)
		/* reading a directory causes the other notes: ignore these */
		notes &= XPOLL_NOTE_ATTRIB;
	/*
	 * Attributes of a directory are reported by its own watch, without a name, and by that of
	 * its parent: ignore the report without a name, except for the root, whose parent is not
	 * watched.
	 */
	if (report->len > 0)
		node = xp_node_find(tree, node, report->name);
	else if (node->parent != NULL)
		return;
	if (node != NULL && (notes & tree->options.notes) != 0)
		xp_change_append_notes(tree, XPOLL_TREE_CHANGE, notes & tree->options.notes, node);
}

/* The kernel has dropped reports: append LOOK, and have all watched directories read again. */
static void reports_overflowed(struct xpoll_tree *tree)
{
	xp_change_append(tree, XPOLL_TREE_LOOK, tree->root);
	for (size_t i = 0; i < tree->watches_size; i++)
		for (struct held *held = tree->watches[i]; held != NULL; held = held->next_watch)
			schedule_rescan(tree, held);
}

/*
 * If the report is about the watched directory itself (its watch has ended, or it was moved), have
 * the directory checked and return true.
 */
static bool handle_watch_report(struct xpoll_tree *tree, const struct inotify_event *report)
{
	struct held *held = NULL;

	if ((report->mask & IN_IGNORED) != 0) {
		while ((held = xp_watch_find(tree, report->wd, NULL)) != NULL) {
			xp_watch_unlink(tree, held);
			xp_tree_make_due(tree, held);
		}
		return true;
	}
	if ((report->mask & IN_MOVE_SELF) == 0)
		return false;
	while ((held = xp_watch_find(tree, report->wd, held)) != NULL)
		xp_tree_make_due(tree, held);
	return true;
}

/* Handle one report.  mate: the second report of the rename that `report` begins, or NULL. */
static void handle_report(struct xpoll_tree *tree, const struct inotify_event *report,
                          struct inotify_event *mate)
{
	struct held *folder, *other;

	if ((report->mask & IN_Q_OVERFLOW) != 0) {
		reports_overflowed(tree);
		return;
	}
	folder = xp_watch_find(tree, report->wd, NULL);
	if (folder == NULL || handle_watch_report(tree, report))
		return;
	if ((report->mask & NAME_EVENTS) != 0)
		for (other = xp_watch_find(tree, report->wd, folder); other != NULL;
		     other = xp_watch_find(tree, report->wd, other))
			schedule_rescan(tree, other);
	if (report->len > 0 && xp_tree_skips(tree, folder->node, report->name)) {
		/*
		 * Ignore a name that the tree skips.  If `report` begins a rename to another name,
		 * the second report is left in the buffer, and is handled like that of a new entry.
		 */
		return;
	}
	if ((report->mask & IN_MOVED_FROM) != 0) {
		rename_entry(tree, folder, report, mate);
		if (mate != NULL)
			mate->mask = 0;
	} else if ((report->mask & IN_CREATE) != 0) {
		entry_appeared(tree, folder, report->name, report->mask & IN_ISDIR, false);
	} else if ((report->mask & IN_MOVED_TO) != 0) {
		entry_appeared(tree, folder, report->name, report->mask & IN_ISDIR, true);
	} else if ((report->mask & IN_DELETE) != 0) {
		entry_disappeared(tree, folder, report->name);
	} else {
		entry_changed(tree, folder, report);
	}
}

/*
 * Returns true if the second report of the rename at follow->at has to be waited for, until the
 * event of the timer TREE_SETTLE_TIMER, which this function sets.  Returns false if that wait is
 * over, the buffer is half full, or the timer cannot be set.
 */
static bool defer_for_rename_end(struct xpoll_tree *tree)
{
	struct follow *follow = tree->follow;

	if (follow->at < follow->waited_end || follow->len > sizeof follow->buffer / 2)
		return false;
	if (tree->is_settle_armed && follow->at < follow->waiting_end)
		return true;
	follow->waiting_end = follow->len;
	tree->is_settle_armed = xp_tree_set_timer(tree, TREE_SETTLE_TIMER, RENAME_WAIT_NS) == 0;
	return tree->is_settle_armed;
}

/*
 * Handle the reports in the buffer.  Returns false if one of them begins a rename whose second
 * report is waited for; the first report and all behind it stay in the buffer.
 */
static bool handle_buffer(struct xpoll_tree *tree)
{
	struct follow *follow = tree->follow;

	while (follow->at < follow->len) {
		const struct inotify_event *report = report_at(follow, follow->at);
		struct inotify_event *mate = NULL;

		if ((report->mask & IN_MOVED_FROM) != 0) {
			mate = find_rename_end(follow, report);
			if (mate == NULL && read_more_reports(tree))
				continue;
			report = report_at(follow, follow->at);
			if (mate == NULL && defer_for_rename_end(tree))
				return false;
		}
		handle_report(tree, report, mate);
		follow->at += report_size(report);
	}
	return true;
}

void xp_follow_event(struct xpoll_tree *tree, const struct xpoll_event *event)
{
	struct follow *follow = tree->follow;
	int rounds = 0;

	if (event->filter == XPOLL_FILT_TIMER) {
		follow->waited_end = follow->waiting_end;
		tree->is_settle_armed = false;
	} else {
		(void)read_more_reports(tree);
	}
	while (handle_buffer(tree) && ++rounds < READS_MOST && read_more_reports(tree))
		continue;
	xp_tree_check_due(tree);
}

void xp_follow_drain(struct xpoll_tree *tree)
{
	struct follow *follow = tree->follow;

	do {
		do {
			follow->waited_end = follow->len;
		} while (!handle_buffer(tree));
	} while (read_more_reports(tree));
}
