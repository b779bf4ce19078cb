/* Watches of inotify(7), and a table of directories by their watch descriptor. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "watch_inotify.h"

/* The notes that a program may request, and the events of inotify(7) for them. */
static const struct {
	uint32_t note, mask;
} kinds[] = {
	{ XPOLL_NOTE_WRITE, IN_MODIFY },
	{ XPOLL_NOTE_ATTRIB, IN_ATTRIB },
	{ XPOLL_NOTE_OPEN, IN_OPEN },
	{ XPOLL_NOTE_READ, IN_ACCESS },
	{ XPOLL_NOTE_CLOSE, IN_CLOSE_NOWRITE },
	{ XPOLL_NOTE_CLOSE_WRITE, IN_CLOSE_WRITE },
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

uint32_t xp_watch_notes(uint32_t mask)
{
	uint32_t notes = 0;

	for (size_t i = 0; i < KINDS; i++)
		if ((mask & kinds[i].mask) != 0)
			notes |= kinds[i].note;
	return notes;
}

static struct held **watches_chain(const struct xpoll_tree *tree, int watch)
{
	return &tree->watches[(size_t)watch & (tree->watches_size - 1)];
}

struct held *xp_watch_find(const struct xpoll_tree *tree, int watch, struct held *held)
{
	if (tree->watches == NULL)
		return NULL;
	held = held != NULL ? held->next_watch : *watches_chain(tree, watch);
	while (held != NULL && held->wd != watch)
		held = held->next_watch;
	return held;
}

/*
 * Make room for one more watch.  Returns false if there is no table at all; an old table that
 * cannot grow for lack of memory stays in use.
 */
static bool watches_reserve(struct xpoll_tree *tree)
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
			struct held **at = watches_chain(tree, held->wd);

			next = held->next_watch;
			held->next_watch = *at;
			*at = held;
		}
	}
	free(old);
	return true;
}

static void watch_link(struct xpoll_tree *tree, struct held *held, int watch)
{
	struct held **at = watches_chain(tree, watch);

	while (*at != NULL)
		at = &(*at)->next_watch;
	held->wd = watch;
	held->is_watched = true;
	held->next_watch = NULL;
	*at = held;
	tree->watches_len++;
}

void xp_watch_unlink(struct xpoll_tree *tree, struct held *held)
{
	struct held **at = watches_chain(tree, held->wd);

	while (*at != held)
		at = &(*at)->next_watch;
	*at = held->next_watch;
	tree->watches_len--;
	held->wd = -1;
	held->is_watched = false;
}

/*
 * Add a watch of the directory that is open as fd.  Returns the watch descriptor, which is that of
 * the present watch if the inode has one; or -1 with errno.
 */
static int add_kernel_watch(const struct xpoll_tree *tree, int fd)
{
	uint32_t mask = NAME_EVENTS | IN_ONLYDIR | IN_EXCL_UNLINK;
	char path[40];

	for (size_t i = 0; i < KINDS; i++)
		if ((tree->options.notes & kinds[i].note) != 0)
			mask |= kinds[i].mask;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return inotify_add_watch(tree->inotify, path, mask);
}

int xp_watch_add(struct xpoll_tree *tree, struct held *held, int fd)
{
	struct held *other;
	int watch;

	if (!watches_reserve(tree))
		return ENOMEM;
	watch = add_kernel_watch(tree, fd);
	if (watch < 0)
		return errno;
	/*
	 * Check the other directories with this watch: they have the same inode, so their known
	 * path may be out of date.
	 */
	for (other = xp_watch_find(tree, watch, NULL); other != NULL;
	     other = xp_watch_find(tree, watch, other))
		xp_tree_make_due(tree, other);
	watch_link(tree, held, watch);
	return 0;
}

bool xp_watch_has_ended(struct xpoll_tree *tree, const struct held *held, int fd)
{
	return add_kernel_watch(tree, fd) != held->wd;
}

void xp_watch_remove(struct xpoll_tree *tree, struct held *held)
{
	int watch = held->wd;

	if (watch < 0 || tree->inotify < 0)
		return;
	xp_watch_unlink(tree, held);
	if (xp_watch_find(tree, watch, NULL) == NULL)
		/* fails, without harm, if the watch has ended */
		(void)inotify_rm_watch(tree->inotify, watch);
}

bool xp_watch_file(struct xpoll_tree *tree, struct node *node, int fd)
{
	(void)tree, (void)node, (void)fd;
	return true; /* the watch of the file's directory reports changes of the contents */
}
