/* Changes that were found and that xpoll_tree_next has not returned yet. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

static void pending_free(struct pending *pending)
{
	if (pending == NULL)
		return;
	free(pending->path);
	free(pending->to);
	free(pending);
}

/*
 * Append a change, which becomes the owner of path.  Returns NULL if memory is lacking, also if
 * path is NULL because the caller could not allocate it; then frees path and sets tree->missed.
 */
static struct pending *append_change(struct xpoll_tree *tree, int kind, char *path)
{
	struct pending *pending = path != NULL ? calloc(1, sizeof *pending) : NULL;

	if (pending == NULL) {
		free(path);
		tree->missed = true;
		return NULL;
	}
	pending->kind = kind;
	pending->path = path;
	if (tree->last_pending != NULL)
		tree->last_pending->next = pending;
	else
		tree->first_pending = pending;
	tree->last_pending = pending;
	return pending;
}

void xp_change_append(struct xpoll_tree *tree, int kind, const struct node *node)
{
	(void)append_change(tree, kind, xp_node_path(node));
}

void xp_change_append_rename(struct xpoll_tree *tree, char *path, const struct node *node)
{
	char *to = xp_node_path(node);
	struct pending *pending = NULL;

	if (to != NULL)
		pending = append_change(tree, XPOLL_TREE_RENAME, path);
	else
		free(path);
	if (pending != NULL)
		pending->to = to;
	else
		free(to);
	tree->missed |= pending == NULL;
}

void xp_change_append_notes(struct xpoll_tree *tree, int kind, uint32_t notes,
                            const struct node *node)
{
	char *path = xp_node_path(node);
	struct pending *pending = tree->last_pending;

	/* Several notes in a row for one path become one change. */
	if (path != NULL && pending != NULL && pending->kind == kind &&
	    strcmp(pending->path, path) == 0) {
		pending->notes |= notes;
		free(path);
		return;
	}
	pending = append_change(tree, kind, path);
	if (pending != NULL)
		pending->notes = notes;
}

bool xp_change_append_unwatched(struct xpoll_tree *tree, struct held *held, int error)
{
	struct pending *pending = NULL;

	if (held->error == 0)
		pending = append_change(tree, XPOLL_TREE_UNWATCHED, xp_node_path(held->node));
	if (pending != NULL)
		pending->error = error;
	held->error = error;
	return error != EMFILE && error != ENFILE && error != ENOMEM && error != ENOSPC;
}

/*
 * If there was no memory for some change (tree->missed), store one change of the kind
 * XPOLL_TREE_LOOK for the root, by which the program learns that anything in the tree may have
 * changed, and return true.
 */
static bool take_missed(struct xpoll_tree *tree, struct xpoll_tree_change *change)
{
	if (!tree->missed)
		return false;
	tree->missed = false;
	*change = (struct xpoll_tree_change){ .kind = XPOLL_TREE_LOOK, .path = "" };
	return true;
}

bool xp_change_take(struct xpoll_tree *tree, struct xpoll_tree_change *change)
{
	struct pending *pending = tree->first_pending;

	pending_free(tree->returned);
	tree->returned = NULL;
	if (pending == NULL)
		return take_missed(tree, change);
	tree->first_pending = pending->next;
	if (tree->first_pending == NULL)
		tree->last_pending = NULL;
	tree->returned = pending;
	*change = (struct xpoll_tree_change){
		.kind = pending->kind,
		.error = pending->error,
		.notes = pending->notes,
		.path = pending->path,
		.to = pending->to,
	};
	return true;
}

void xp_changes_free(struct xpoll_tree *tree)
{
	struct xpoll_tree_change change;

	tree->missed = false;
	while (xp_change_take(tree, &change))
		continue;
}
