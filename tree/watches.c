/* A table of directories by their watch descriptor. */
#include <stdlib.h>

#include "tree.h"

static struct held **watch_bucket(const struct xpoll_tree *tree, int watch)
{
	return &tree->watches[(size_t)watch & (tree->watches_size - 1)];
}

struct held *xp_watch_find(const struct xpoll_tree *tree, int watch, struct held *held)
{
	if (tree->watches == NULL)
		return NULL;
	held = held != NULL ? held->next_watch : *watch_bucket(tree, watch);
	while (held != NULL && held->watch != watch)
		held = held->next_watch;
	return held;
}

bool xp_watches_reserve(struct xpoll_tree *tree)
{
	size_t size = tree->watches_size > 0 ? 2 * tree->watches_size : 64;
	struct held **old = tree->watches, **watches;
	size_t old_size = tree->watches_size;

	if (tree->watches_len < tree->watches_size)
		return true;
	watches = calloc(size, sizeof(struct held *));
	if (watches == NULL)
		return old != NULL;
	tree->watches = watches;
	tree->watches_size = size;
	for (size_t i = 0; i < old_size; i++) {
		struct held *held = old[i], *next;

		for (; held != NULL; held = next) {
			struct held **at = watch_bucket(tree, held->watch);

			next = held->next_watch;
			held->next_watch = *at;
			*at = held;
		}
	}
	free(old);
	return true;
}

void xp_watch_link(struct xpoll_tree *tree, struct held *held, int watch)
{
	struct held **at = watch_bucket(tree, watch);

	while (*at != NULL)
		at = &(*at)->next_watch;
	held->watch = watch;
	held->watched = true;
	held->next_watch = NULL;
	*at = held;
	tree->watches_len++;
}

void xp_watch_unlink(struct xpoll_tree *tree, struct held *held)
{
	struct held **at = watch_bucket(tree, held->watch);

	while (*at != held)
		at = &(*at)->next_watch;
	*at = held->next_watch;
	tree->watches_len--;
	held->watch = -1;
	held->watched = false;
}
