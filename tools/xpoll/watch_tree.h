/*
 * xpoll watch: what the two halves of --dir share.  watch_nodes.c keeps what
 * is known of directories and finds what has changed; watch_tree.c watches
 * them and prints.
 */
#ifndef XPOLL_WATCH_TREE_H
#define XPOLL_WATCH_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "watch.h"

/*
 * Directories are not entered deeper than a path can name; so what goes through
 * a tree may call itself.
 */
#define NODE_DEEPEST (PATH_MAX / 2)

/* An entry of a directory; the root is what was asked for. */
struct node {
	struct watch_item item;
	struct node *parent; /* NULL: the root */
	char *name;          /* of the root: its path */
	int fd;              /* -1: not held */
	bool is_file, is_folder;
	bool entered;        /* a directory whose entries are nodes too */
	ino_t entry_ino;     /* as the directory has it: cheap to compare */
	dev_t dev;
	ino_t ino;
	struct node **children; /* by name */
	size_t len;
	bool dirty;
	struct node *next_dirty;
	bool lost;          /* in a list of changes: its directory lacks it */
	struct node *match; /* of a lost one: as what it was found again */
};

struct node_list {
	struct node **nodes;
	size_t len, cap;
};

struct changes {
	struct node_list lost;  /* nodes that no directory has any more */
	struct node_list found; /* nodes made for entries that are new */
};

/* How many directories are above it. */
int node_depth(const struct node *it);

/* The root for a path, not held yet; NULL with errno. */
struct node *node_root(const char *path);

/* Learn what a node holds, now that it does: 0, or -1 with errno. */
int node_identify(struct node *it);

/* Close and free a node and all below it. */
void node_free(struct node *it);

/* "src/base/list.h"; the caller frees it; NULL: no memory. */
char *node_path(const struct node *it);

/*
 * Compare what is known of a directory with what is there, and know that from
 * now on.  Entries that came or went are appended to changes.  Returns 0 or an
 * errno, then what could be read was compared.
 */
int node_compare(struct node *folder, const struct tool_list *excluded,
                 struct changes *changes);

/*
 * Find out which of the lost were found again under another name, and sort
 * them: what is below a directory comes before it.
 */
void changes_sort(struct changes *changes);

/* It, or a directory above it, was lost for good. */
bool node_is_gone(const struct node *it);

/* A lost node is in the tree again where the one that it matches is. */
void node_take_place(struct node *lost, struct node *found);

/* Free what is lost for good, and what was matched. */
void changes_free(struct changes *changes);

#endif
