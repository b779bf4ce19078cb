/*
 * Following a tree where there is no inotify(7): by the VNODE filter, which reports that something
 * in a directory has changed, but not what.  Such a directory is read again.
 *
 * Each directory is held open, and so is each file if its contents are of interest.  A rename
 * is an entry that went and one that came.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree.h"

#define SETTLE_NS 5000000LL /* from the first report to the reading of directories */

int xp_follow_open(struct xpoll_tree *tree)
{
	return xpoll_supports(tree->queue, XPOLL_FILT_VNODE,
	                      tree->options.notes | XPOLL_NOTE_WRITE) == 1 ? 0 : ENOTSUP;
}

void xp_follow_close(struct xpoll_tree *tree)
{
	(void)tree;
}

static int watch(struct xpoll_tree *tree, struct held *held, int fd, uint32_t notes)
{
	int error = xp_tree_add(tree, (uint64_t)fd, XPOLL_FILT_VNODE, notes, held);

	if (error == 0) {
		held->fd = fd;
		held->watched = true;
	}
	return error;
}

int xp_follow_add(struct xpoll_tree *tree, struct held *held, int fd)
{
	return watch(tree, held, fd,
	             XPOLL_NOTE_WRITE | (tree->options.notes & XPOLL_NOTE_ATTRIB));
}

bool xp_follow_has_ended(struct xpoll_tree *tree, const struct held *held, int fd)
{
	(void)tree, (void)held, (void)fd;
	return false; /* the watch lasts as long as the descriptor */
}

void xp_follow_remove(struct xpoll_tree *tree, struct held *held)
{
	(void)tree;
	if (held->fd >= 0)
		(void)xpoll_close_fd(held->fd);
	held->fd = -1;
	held->watched = false;
}

bool xp_follow_file(struct xpoll_tree *tree, struct node *node, int fd)
{
	struct stat status;
	int error = 0, file = -1;

	/* Open regular files only: opening a device could block or have an effect. */
	if (tree->options.notes == 0 || (node->held != NULL && node->held->watched) ||
	    fstatat(fd, node->name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(status.st_mode))
		return true;
	if (node->held == NULL && !xp_node_make_held(tree, node))
		return false;
	file = openat(fd, node->name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0)
		error = errno == ENOENT ? 0 : errno;
	else
		error = watch(tree, node->held, file, tree->options.notes);
	if (error != 0 && file >= 0)
		close(file);
	if (error != 0)
		return xp_tree_unwatched(tree, node->held, error);
	node->held->error = 0;
	return true;
}

static void settle_soon(struct xpoll_tree *tree)
{
	if (tree->settles)
		return;
	tree->settles = xp_tree_timer(tree, TREE_SETTLE, SETTLE_NS) == 0;
	if (!tree->settles)
		xp_tree_catch_up(tree);
}

static void held_event(struct xpoll_tree *tree, struct held *held,
                       const struct xpoll_event *event)
{
	struct node *node = held->node;
	uint32_t notes = event->fflags & tree->options.notes;

	if (node->is_folder)
		notes &= XPOLL_NOTE_ATTRIB;
	/* data is not 0: reports were dropped, and each note may or may not have happened. */
	if (event->data != 0)
		xp_change_append(tree, XPOLL_TREE_LOOK, node->is_folder ? node : node->parent);
	else if (notes != 0)
		xp_change_noted(tree, XPOLL_TREE_CHANGE, notes, node);
	if (!node->is_folder)
		return;
	held->rescan = true;
	xp_tree_due(tree, held);
	settle_soon(tree);
}

void xp_follow_event(struct xpoll_tree *tree, const struct xpoll_event *event)
{
	if (event->filter != XPOLL_FILT_TIMER) {
		held_event(tree, event->udata, event);
		return;
	}
	tree->settles = false;
	xp_tree_catch_up(tree);
}

void xp_follow_drain(struct xpoll_tree *tree)
{
	xp_tree_catch_up(tree);
}
