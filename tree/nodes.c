/* The names that a tree knows: a table by directory and name, and a list for each directory. */
#include <stdlib.h>
#include <string.h>

#include "tree.h"

static size_t name_hash(const struct node *parent, const char *name)
{
	uint64_t hash = (uint64_t)(uintptr_t)parent * 0x9e3779b97f4a7c15u;

	for (; *name != '\0'; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
	return (size_t)(hash ^ hash >> 32);
}

static struct node **names_chain(const struct xpoll_tree *tree, const struct node *parent,
                                 const char *name)
{
	return &tree->names[name_hash(parent, name) & (tree->names_size - 1)];
}

/*
 * Make room for one more name: double the table if it is full.  Returns false only if there is no
 * table at all.
 */
static bool names_reserve(struct xpoll_tree *tree)
{
	size_t size = tree->names_size > 0 ? 2 * tree->names_size : 256;
	struct node **old = tree->names, **names;
	size_t old_size = tree->names_size;

	if (tree->names_len < tree->names_size)
		return true;
	names = calloc(size, sizeof(struct node *));
	if (names == NULL)
		return old != NULL; /* keep the old table: its chains get longer */
	tree->names = names;
	tree->names_size = size;
	for (size_t i = 0; i < old_size; i++) {
		struct node *node = old[i], *next;

		for (; node != NULL; node = next) {
			struct node **at = names_chain(tree, node->parent, node->name);

			next = node->next_name;
			node->next_name = *at;
			*at = node;
		}
	}
	free(old);
	return true;
}

static void node_link(struct xpoll_tree *tree, struct node *node)
{
	struct node **at = names_chain(tree, node->parent, node->name);

	node->next_name = *at;
	*at = node;
	tree->names_len++;
	if (node->parent == NULL)
		return;
	node->link = &node->parent->held->children;
	node->next = *node->link;
	if (node->next != NULL)
		node->next->link = &node->next;
	*node->link = node;
}

void xp_node_unlink(struct xpoll_tree *tree, struct node *node)
{
	struct node **at = names_chain(tree, node->parent, node->name);

	while (*at != node)
		at = &(*at)->next_name;
	*at = node->next_name;
	tree->names_len--;
	if (node->parent == NULL)
		return;
	*node->link = node->next;
	if (node->next != NULL)
		node->next->link = node->link;
}

struct node *xp_node_new(struct xpoll_tree *tree, struct node *parent, const char *name)
{
	struct node *node = names_reserve(tree) ? calloc(1, sizeof *node) : NULL;

	if (node != NULL)
		node->name = strdup(name);
	if (node == NULL || node->name == NULL) {
		free(node);
		tree->missed = true;
		return NULL;
	}
	node->parent = parent;
	node_link(tree, node);
	return node;
}

struct node *xp_node_find(const struct xpoll_tree *tree, const struct node *parent,
                          const char *name)
{
	struct node *node = *names_chain(tree, parent, name);

	while (node != NULL && (node->parent != parent || strcmp(node->name, name) != 0))
		node = node->next_name;
	return node;
}

bool xp_node_make_held(struct xpoll_tree *tree, struct node *node)
{
	struct held *held = calloc(1, sizeof *held);

	if (held == NULL) {
		tree->missed = true;
		return false;
	}
	held->node = node;
	held->fd = -1;
	held->wd = -1;
	node->held = held;
	return true;
}

bool xp_node_make_folder(struct xpoll_tree *tree, struct node *node)
{
	if (node->held == NULL && !xp_node_make_held(tree, node))
		return false;
	node->is_folder = true;
	return true;
}

bool xp_node_move(struct xpoll_tree *tree, struct node *node, struct node *parent,
                  const char *name)
{
	char *copy = strdup(name);

	if (copy == NULL) {
		tree->missed = true;
		return false;
	}
	xp_node_unlink(tree, node);
	free(node->name);
	node->name = copy;
	node->parent = parent;
	node->entry_ino = 0;
	node_link(tree, node);
	return true;
}

bool xp_node_is_at_or_below(const struct node *node, const struct node *above)
{
	while (node != NULL && node != above)
		node = node->parent;
	return node != NULL;
}

char *xp_node_child_path(const struct node *folder, const char *name)
{
	size_t len = strlen(name), size = len + 1;
	char *path, *at;

	for (const struct node *up = folder; up->parent != NULL; up = up->parent)
		size += strlen(up->name) + 1;
	path = malloc(size);
	if (path == NULL)
		return NULL;
	at = path + size - 1 - len;
	memcpy(at, name, len + 1);
	for (; folder->parent != NULL; folder = folder->parent) {
		len = strlen(folder->name);
		*--at = '/';
		at -= len;
		memcpy(at, folder->name, len);
	}
	return path;
}

char *xp_node_path(const struct node *node)
{
	return node->parent != NULL ? xp_node_child_path(node->parent, node->name) : strdup("");
}
