/* Removes known names, with the watches of their nodes; reports deletions if the caller asks. */
#include <stdlib.h>

#include "tree.h"

/* End the watch of a node without children, and free the node. */
static void node_free(struct xpoll_tree *tree, struct node *node)
{
	xp_node_unlink(tree, node);
	if (node->held != NULL) {
		xp_watch_remove(tree, node->held);
		node->held->node = NULL;
		if (!node->held->is_due)
			free(node->held);
	}
	free(node->name);
	free(node);
}

static struct node *first_child(const struct node *node)
{
	return node->held != NULL ? node->held->children : NULL;
}

/* Removes one leaf after the other: a recursion could need more stack than a thread has. */
void xp_node_remove_below(struct xpoll_tree *tree, struct node *node, bool reports)
{
	struct node *last;

	while ((last = first_child(node)) != NULL) {
		while (first_child(last) != NULL)
			last = first_child(last);
		if (reports)
			xp_change_append(tree, XPOLL_TREE_DELETE, last);
		node_free(tree, last);
	}
}

void xp_node_remove(struct xpoll_tree *tree, struct node *node, bool reports)
{
	xp_node_remove_below(tree, node, reports);
	if (reports)
		xp_change_append(tree, XPOLL_TREE_DELETE, node);
	node_free(tree, node);
}
