/*
 * Watches on systems without inotify(7): a registration of the VNODE filter for each directory, and
 * for each file whose contents are of interest.  Each needs an open descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree.h"

/* Watch a directory or file for these notes; held->fd becomes fd.  Returns 0 or an errno value. */
static int add_vnode_watch(struct xpoll_tree *tree, struct held *held, int fd, uint32_t notes)
{
	int error = xp_tree_register(tree, (uint64_t)fd, XPOLL_FILT_VNODE, notes, held);

	if (error == 0) {
		held->fd = fd;
		held->is_watched = true;
	}
	return error;
}

int xp_watch_add(struct xpoll_tree *tree, struct held *held, int fd)
{
	return add_vnode_watch(tree, held, fd,
	                       XPOLL_NOTE_WRITE | (tree->options.notes & XPOLL_NOTE_ATTRIB));
}

bool xp_watch_has_ended(struct xpoll_tree *tree, const struct held *held, int fd)
{
	(void)tree, (void)held, (void)fd;
	return false; /* the watch lasts as long as held->fd is open */
}

void xp_watch_remove(struct xpoll_tree *tree, struct held *held)
{
	(void)tree;
	if (held->fd >= 0)
		(void)xpoll_close_fd(held->fd);
	held->fd = -1;
	held->is_watched = false;
}

bool xp_watch_file(struct xpoll_tree *tree, struct node *node, int fd)
{
	struct stat status;
	int error = 0, file = -1;

	/* Open regular files only: opening a device could block or have an effect. */
	if (tree->options.notes == 0 || (node->held != NULL && node->held->is_watched) ||
	    fstatat(fd, node->name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(status.st_mode))
		return true;
	if (node->held == NULL && !xp_node_make_held(tree, node))
		return false;
	file = openat(fd, node->name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0)
		error = errno == ENOENT ? 0 : errno;
	else
		error = add_vnode_watch(tree, node->held, file, tree->options.notes);
	if (error != 0 && file >= 0)
		close(file);
	if (error != 0)
		return xp_change_append_unwatched(tree, node->held, error);
	node->held->error = 0;
	return true;
}
