/* Enters directories: opens, watches and then reads them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree.h"

#define RETRY_NS 100000000LL /* the pause before a check with the result LACKING is repeated */

/*
 * The result of the check of one directory; after LATER and LACKING the directory is checked again.
 */
enum outcome {
	DONE,
	LATER,   /* not at its known path; the kernel's report of its move or removal will come */
	LACKING, /* descriptors, watches or memory are lacking */
};

bool xp_tree_skips(const struct xpoll_tree *tree, const struct node *folder, const char *name)
{
	bool result = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
	char *path;

	if (result || tree->options.skip == NULL)
		return result;
	path = xp_node_child_path(folder, name);
	result = path != NULL && tree->options.skip(tree->options.argument, path) != 0;
	free(path);
	return result;
}

/*
 * Make a node a directory that is entered by the next check; with XPOLL_TREE_FLAT do nothing.
 * Returns false if memory is lacking.
 */
static bool make_folder_due(struct xpoll_tree *tree, struct node *node)
{
	if ((tree->options.flags & XPOLL_TREE_FLAT) != 0)
		return true;
	if (!xp_node_make_folder(tree, node))
		return false;
	xp_tree_make_due(tree, node->held);
	return true;
}

bool xp_tree_found(struct xpoll_tree *tree, struct node *node, bool is_folder)
{
	if (!tree->quiet)
		xp_change_append(tree, XPOLL_TREE_CREATE, node);
	return !is_folder || make_folder_due(tree, node);
}

/* --- Reading a directory ----------------------------------------------------------- */

/*
 * Returns true for a directory; with XPOLL_TREE_LINKS also for a symbolic link to a directory.
 * Sets *is_link to true for such a link, otherwise to false.
 */
static bool leads_to_folder(const struct xpoll_tree *tree, int fd, const struct dirent *entry,
                            bool *is_link)
{
	struct stat status;

	*is_link = false;
#ifdef DT_DIR
	if (entry->d_type == DT_DIR)
		return true;
	if (entry->d_type != DT_UNKNOWN && entry->d_type != DT_LNK)
		return false;
#endif
	if (fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (!S_ISLNK(status.st_mode) || (tree->options.flags & XPOLL_TREE_LINKS) == 0)
		return S_ISDIR(status.st_mode);
	*is_link = fstatat(fd, entry->d_name, &status, 0) == 0 && S_ISDIR(status.st_mode);
	return *is_link;
}

/* Returns true if the entry is not the file that the node was made for, by inode number or kind. */
static bool is_replaced(const struct node *node, const struct dirent *entry, bool is_folder)
{
	if (node->entry_ino != 0 && entry->d_ino != 0 && node->entry_ino != entry->d_ino)
		return true;
	return node->is_folder && !is_folder;
}

/*
 * Update the node of a directory entry that was just read: make, replace or change it, and put the
 * node into the list tree->due if it is a directory to enter or check.  Returns false if memory
 * is lacking.
 */
static bool entry_update(struct xpoll_tree *tree, struct held *folder, int fd,
                         const struct dirent *entry)
{
	struct node *node = xp_node_find(tree, folder->node, entry->d_name);
	bool is_link, is_folder = leads_to_folder(tree, fd, entry, &is_link), made = true;
	bool known;

	if (node != NULL && is_replaced(node, entry, is_folder)) {
		xp_node_remove(tree, node, true);
		node = NULL;
	}
	known = node != NULL;
	if (!known) {
		node = xp_node_new(tree, folder->node, entry->d_name);
		if (node == NULL)
			return false;
		node->is_link = is_link;
		made = xp_tree_found(tree, node, is_folder);
	} else if (is_folder && !node->is_folder) {
		node->is_link = is_link;
		made = make_folder_due(tree, node);
	} else if (node->is_folder && (folder->checks_below || !node->held->is_watched)) {
		xp_tree_make_due(tree, node->held);
	}
	/*
	 * Watch the file.  xp_watch_file returns false if a resource, such as watches of inotify,
	 * is lacking; has_unwatched_files records that for the rest of this reading.  From then on
	 * skip files that were known before, because they would fail as well.  Go on to try new
	 * files: for each that fails xp_watch_file appends a change XPOLL_TREE_UNWATCHED, by which
	 * the program learns of the failure.
	 */
	if (!is_folder && !(known && folder->has_unwatched_files))
		folder->has_unwatched_files |= !xp_watch_file(tree, node, fd);
	node->entry_ino = entry->d_ino;
	node->scan = tree->scan;
	return made;
}

/* Remove the nodes of a directory whose entries the last reading did not find. */
static void remove_unseen_nodes(struct xpoll_tree *tree, struct held *folder)
{
	struct node *node = folder->children, *next;

	for (; node != NULL; node = next) {
		next = node->next;
		if (node->scan != tree->scan)
			xp_node_remove(tree, node, true);
	}
}

/*
 * Read all entries, and remove known names that are gone.  After an error, returned as an errno
 * value, known names that the reading did not find stay.
 */
static int entries_read(struct xpoll_tree *tree, struct held *folder, DIR *stream)
{
	int fd = dirfd(stream);
	struct dirent *entry;

	tree->scan++;
	for (;;) {
		errno = 0;
		entry = readdir(stream);
		if (entry == NULL)
			break;
		if (!xp_tree_skips(tree, folder->node, entry->d_name) &&
		    !entry_update(tree, folder, fd, entry))
			return ENOMEM;
	}
	if (errno != 0 && errno != ENOENT) /* ENOENT: the directory was removed */
		return errno;
	remove_unseen_nodes(tree, folder);
	return 0;
}

/*
 * Read the directory that is open as fd; deep: have its known subdirectories checked as well.
 * Closes fd, unless the watch needs it open.  Returns 0 or an errno value.
 */
static int folder_read(struct xpoll_tree *tree, struct held *folder, int fd, bool deep)
{
	int own = folder->fd == fd
		? openat(fd, ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC) : fd;
	DIR *stream = own >= 0 ? fdopendir(own) : NULL;
	int error;

	folder->rescan = true;
	folder->checks_below |= deep;
	if (stream == NULL) {
		error = errno;
		if (own >= 0)
			close(own);
		return error;
	}
	folder->has_unwatched_files = false;
	error = entries_read(tree, folder, stream);
	closedir(stream);
	if (error != 0)
		return error;
	folder->rescan = folder->has_unwatched_files;
	folder->checks_below = false;
	return 0;
}

/* --- Checking a directory ---------------------------------------------------------- */

/* Open a directory at its known path.  Returns a descriptor, or -1 with errno. */
static int folder_open(const struct xpoll_tree *tree, const struct node *node)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC;
	char *path;
	int fd;

	if (node->parent == NULL)
		return openat(tree->root_fd, ".", flags);
	path = xp_node_path(node);
	if (path == NULL) {
		errno = ENOMEM;
		return -1;
	}
	fd = openat(tree->root_fd, path, node->is_link ? flags : flags | O_NOFOLLOW);
	free(path);
	return fd;
}

static bool is_same(const struct held *held, const struct stat *status)
{
	return held->dev == status->st_dev && held->ino == status->st_ino;
}

/*
 * Returns true if the open directory is in the directory of its node's parent.  Its name there is
 * not checked: the parent is watched, and reports a rename.  Also returns true for the root, for
 * links, and if the parent cannot be queried.
 */
static bool is_in_known_parent(const struct node *node, int fd)
{
	struct stat status;

	return node->parent == NULL || node->is_link || fstatat(fd, "..", &status, 0) < 0 ||
		is_same(node->parent->held, &status);
}

/* Returns true if the node is a link to a directory above it, which would be entered for ever. */
static bool is_loop(const struct node *node, const struct stat *status)
{
	const struct node *up = node->is_link ? node->parent : NULL;

	while (up != NULL && !is_same(up->held, status))
		up = up->parent;
	return up != NULL;
}

/*
 * The node is a link that leads to no directory any more, or to one above the link (is_loop): turn
 * the node into an entry that is no directory, and report the entries below it as deleted.
 */
static void folder_leave(struct xpoll_tree *tree, struct node *node)
{
	struct held *held = node->held;

	xp_node_remove_below(tree, node, true);
	xp_watch_remove(tree, held);
	node->held = NULL;
	node->is_folder = false;
	held->node = NULL; /* so that check_due_folders frees `held` */
}

/* Handle an error of opening, watching or reading a directory.  Returns the check's outcome. */
static enum outcome folder_failed(struct xpoll_tree *tree, struct held *held, int error)
{
	if (error == ENOENT || error == ENOTDIR || error == ELOOP) {
		if (!held->node->is_link)
			return LATER;
		folder_leave(tree, held->node);
		return DONE;
	}
	return xp_change_append_unwatched(tree, held, error) ? DONE : LACKING;
}

/*
 * Watch and read a directory that is not watched yet, or that has replaced the watched one.  Takes
 * over fd.
 */
static enum outcome folder_enter(struct xpoll_tree *tree, struct held *held, int fd,
                                 const struct stat *status)
{
	int error;

	xp_watch_remove(tree, held);
	held->dev = status->st_dev;
	held->ino = status->st_ino;
	error = xp_watch_add(tree, held, fd);
	if (error == 0 && !is_in_known_parent(held->node, fd)) {
		bool holds = held->fd == fd;

		xp_watch_remove(tree, held);
		if (!holds)
			close(fd);
		return LATER;
	}
	if (error != 0)
		close(fd);
	else
		error = folder_read(tree, held, fd, true);
	if (error != 0)
		return folder_failed(tree, held, error);
	held->error = 0;
	tree->entered++;
	return held->rescan ? LACKING : DONE;
}

/*
 * Open a directory at its known path.  Enter it (watch it, then read it) if it is not watched or is
 * another directory now; otherwise read it if that was requested (rescan).
 */
static enum outcome folder_check(struct xpoll_tree *tree, struct held *held)
{
	int fd = folder_open(tree, held->node);
	struct stat status;
	int error = 0;

	if (fd < 0)
		return folder_failed(tree, held, errno);
	if (fstat(fd, &status) < 0) {
		error = errno;
		close(fd);
		return folder_failed(tree, held, error);
	}
	if (is_loop(held->node, &status)) {
		close(fd);
		folder_leave(tree, held->node);
		return DONE;
	}
	if (!held->is_watched || !is_same(held, &status) ||
	    (held->rescan && xp_watch_has_ended(tree, held, fd)))
		return folder_enter(tree, held, fd, &status);
	if (held->rescan)
		error = folder_read(tree, held, fd, false);
	else
		close(fd);
	if (error != 0)
		return folder_failed(tree, held, error);
	held->error = 0;
	return held->rescan ? LACKING : DONE;
}

static void retry_later(struct xpoll_tree *tree)
{
	if (!tree->is_retry_armed)
		tree->is_retry_armed = xp_tree_set_timer(tree, TREE_RETRY_TIMER, RETRY_NS) == 0;
}

/*
 * Check the directories in the list tree->due; those to be checked again are in it afterwards.
 * Once a directory could not be watched for lack of a resource, the further ones without a watch
 * are not checked, but reported as UNWATCHED.  Returns false if descriptors, watches or memory were
 * lacking in a check (result LACKING), so that the caller has to repeat the checks later.
 */
static bool check_due_folders(struct xpoll_tree *tree)
{
	struct held *later = NULL, **last = &later;
	int lacking = 0; /* errno value of the last check with the result LACKING; 0: none */
	bool complete = true;

	while (tree->due != NULL) {
		struct held *held = tree->due;
		enum outcome outcome = LATER;

		tree->due = held->next_due;
		if (tree->due == NULL)
			tree->last_due = &tree->due;
		if (held->node != NULL && (lacking == 0 || held->is_watched))
			outcome = folder_check(tree, held);
		else if (held->node != NULL)
			(void)xp_change_append_unwatched(tree, held, lacking);
		if (held->node == NULL) {
			free(held);
			continue;
		}
		complete &= outcome != LACKING;
		if (outcome == LACKING && held->error != 0)
			lacking = held->error;
		if (outcome == DONE) {
			held->is_due = false;
			continue;
		}
		held->next_due = NULL;
		*last = held;
		last = &held->next_due;
	}
	tree->due = later;
	tree->last_due = later != NULL ? last : &tree->due;
	return complete;
}

void xp_tree_check_due(struct xpoll_tree *tree)
{
	size_t entered;

	/*
	 * A directory with the result LATER was not found at its known path.  Check it again if
	 * another directory was entered (watched and read) meanwhile, because it may have moved
	 * into that one.
	 */
	do {
		entered = tree->entered;
		if (!check_due_folders(tree)) {
			retry_later(tree);
			return;
		}
	} while (tree->due != NULL && tree->entered != entered);
}
