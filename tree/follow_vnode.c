/*
 * Follows a tree on systems without inotify(7), by the VNODE filter.  The filter reports that
 * something in a directory has changed, but not what, so the directory is read again.  The program
 * gets a rename as a CREATE and a DELETE, in either order.
 */
#include <errno.h>

#include "tree.h"

#define SETTLE_NS 5000000LL /* pause between the first report and the reading of the directories */

int xp_follow_open(struct xpoll_tree *tree)
{
	return xpoll_supports(tree->queue, XPOLL_FILT_VNODE,
	                      tree->options.notes | XPOLL_NOTE_WRITE) == 1 ? 0 : ENOTSUP;
}

void xp_follow_close(struct xpoll_tree *tree)
{
	(void)tree;
}

/* Have the directories in tree->due checked after SETTLE_NS; if no timer can be set, now. */
static void check_after_pause(struct xpoll_tree *tree)
{
	if (tree->is_settle_armed)
		return;
	tree->is_settle_armed = xp_tree_set_timer(tree, TREE_SETTLE_TIMER, SETTLE_NS) == 0;
	if (!tree->is_settle_armed)
		xp_tree_check_due(tree);
}

/* Handle a report about a directory or a watched file. */
static void folder_event(struct xpoll_tree *tree, struct held *held,
                         const struct xpoll_event *event)
{
	struct node *node = held->node;
	uint32_t notes = event->fflags & tree->options.notes;

	if (node->is_folder)
		notes &= XPOLL_NOTE_ATTRIB;
	/* If data is not 0, reports were dropped, and any change may have happened: append LOOK. */
	if (event->data != 0)
		xp_change_append(tree, XPOLL_TREE_LOOK, node->is_folder ? node : node->parent);
	else if (notes != 0)
		xp_change_append_notes(tree, XPOLL_TREE_CHANGE, notes, node);
	if (!node->is_folder)
		return;
	held->rescan = true;
	xp_tree_make_due(tree, held);
	check_after_pause(tree);
}

void xp_follow_event(struct xpoll_tree *tree, const struct xpoll_event *event)
{
	if (event->filter != XPOLL_FILT_TIMER) {
		folder_event(tree, event->udata, event);
		return;
	}
	tree->is_settle_armed = false;
	xp_tree_check_due(tree);
}

void xp_follow_drain(struct xpoll_tree *tree)
{
	xp_tree_check_due(tree);
}
