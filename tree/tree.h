/*
 * Declarations that the files of the tree share.
 *
 *   api.c               the calls of <xpoll_tree.h>
 *   follow_inotify.c    reports of the kernel, by name (Linux)
 *   follow_vnode.c      reports of the kernel, by directory (other systems)
 *   enter.c             opens, watches and reads directories
 *   forget.c            removes names
 *   watch_inotify.c     watches, and the directories by their watch descriptor (Linux)
 *   watch_vnode.c       watches of other systems
 *   changes.c           the changes that xpoll_tree_next has not returned yet
 *   queue.c             registrations with the queue, and the directories that are due
 *   nodes.c             the names that are known
 *
 * Each file calls only those below it.
 *
 * The known names are behind the file system: each report of the kernel is one step towards it.
 * A directory is opened by the path that it has among the known names, and another directory may
 * have that path by now.  So a directory is watched first, and then read; whoever opens it checks
 * that its parent is the one that is known; and a directory for which this fails, or that moved,
 * or whose watch ended, is checked again once the reports that have arrived are used up or have
 * to wait.
 *
 * Only one thread at a time uses a tree, except for xpoll_tree_wake.
 */
#ifndef XPOLL_TREE_TREE_H
#define XPOLL_TREE_TREE_H

#include <stdbool.h>
#include <sys/types.h>
#include <xpoll_tree.h>

struct node;

/*
 * The watch of a node, which is a directory, even one that was not entered yet, or (VNODE) a file.
 */
struct held {
	struct node *node; /* NULL: removed; this is freed when it leaves the list `due` */
	struct node *children;
	int fd;    /* the descriptor that the watch needs open, or -1 */
	int watch; /* the watch descriptor of inotify(7), or -1; unused with VNODE */
	bool watched;
	bool is_due;   /* in the list of directories to check */
	bool rescan;   /* read again even if the directory is the same */
	bool lacks;    /* a file in it is not watched: try again */
	bool deep;     /* after reading, check the known directories below as well */
	int error; /* the error for which UNWATCHED was reported, or 0 */
	dev_t dev; /* device of the watched directory */
	ino_t ino;
	struct held *next_due;
	struct held *next_watch; /* next in its chain of tree->watches */
};

/* An entry of a directory; the root is the directory that the program passed. */
struct node {
	struct node *parent; /* NULL: the root */
	struct node *next, **link; /* the next sibling; the pointer to this node */
	struct node *next_name; /* next in its chain of tree->names */
	struct held *held; /* NULL: none */
	char *name; /* its name; the path of the root */
	ino_t entry_ino; /* as read from the directory, or 0 */
	unsigned scan; /* number of the last reading that found the entry */
	bool is_folder; /* has a `held` with children */
	bool is_link;
};

/* A change that xpoll_tree_next has not returned yet. */
struct pending {
	struct pending *next;
	int kind, error;
	uint32_t notes;
	char *path, *to; /* `to` may be NULL */
};

struct follow; /* of follow_*.c */

struct xpoll_tree {
	struct xpoll *queue;
	struct xpoll_tree_options options;
	struct node *root;
	int root_fd;
	struct node **names; /* hash table by directory and name, with chains */
	size_t names_len, names_size; /* the size is a power of two */
	int inotify; /* -1: none */
	struct held **watches; /* hash table by watch descriptor, with chains */
	size_t watches_len, watches_size;
	struct held *due, **last_due; /* directories to check */
	unsigned scan;
	size_t entered; /* number of directories entered so far */
	bool quiet;  /* in xpoll_tree_open: entries that are found are not reported */
	bool missed; /* a change was lost for lack of memory */
	bool retries; /* TREE_RETRY is set; when it expires, `due` is checked again */
	bool settles; /* TREE_SETTLE is set, to wait for related reports */
	bool ended;  /* END was reported */
	struct pending *first, *end;
	struct pending *returned; /* the change whose strings the caller has */
	struct follow *follow;
};

/* idents of timers. */
enum { TREE_RETRY = 1, TREE_SETTLE = 2 };

/* --- nodes.c ----------------------------------------------------------------------- */

/* Make a node for an entry, or for the root if parent is NULL.  Returns NULL without memory. */
struct node *xp_node_new(struct xpoll_tree *tree, struct node *parent, const char *name);
struct node *xp_node_find(const struct xpoll_tree *tree, const struct node *parent,
                          const char *name);
/*
 * Allocate the `held` of a node; make a node a directory, which has one.  Return false without
 * memory.
 */
bool xp_node_make_held(struct xpoll_tree *tree, struct node *node);
bool xp_node_make_folder(struct xpoll_tree *tree, struct node *node);
/* Move a node, with all below it, to another parent and name.  Returns false without memory. */
bool xp_node_move(struct xpoll_tree *tree, struct node *node, struct node *parent,
                  const char *name);
/* Remove a node from the table and from the list of its directory. */
void xp_node_unlink(struct xpoll_tree *tree, struct node *node);
/* true also if both are the same */
bool xp_node_is_below(const struct node *node, const struct node *above);
/*
 * Returns the path of a node, such as "src/base/list.h", or "" for the root; the caller frees it.
 * NULL without memory.
 */
char *xp_node_path(const struct node *node);
/* Returns the path of an entry that has no node, like xp_node_path. */
char *xp_node_child_path(const struct node *folder, const char *name);

/* --- queue.c --------------------------------------------------------------------------- */

/* Register something with the queue.  Returns 0 or an errno value. */
int xp_tree_add(struct xpoll_tree *tree, uint64_t ident, int filter, uint32_t fflags, void *udata);
/* Register the timers, so that setting one takes no memory.  Returns 0 or an errno value. */
int xp_tree_timers_make(struct xpoll_tree *tree);
/* Set, or set again, a timer that expires once.  Returns 0 or an errno value. */
int xp_tree_timer(struct xpoll_tree *tree, uint64_t ident, int64_t after_ns);
/* Make the next xp_tree_catch_up check a directory. */
void xp_tree_due(struct xpoll_tree *tree, struct held *held);

/* --- changes.c --------------------------------------------------------------------- */

/* Append a change of a node. */
void xp_change_append(struct xpoll_tree *tree, int kind, const struct node *node);
/* Append a rename from path, which is freed; path is NULL if there was no memory for it. */
void xp_change_renamed(struct xpoll_tree *tree, char *path, const struct node *node);
void xp_change_noted(struct xpoll_tree *tree, int kind, uint32_t notes, const struct node *node);
/*
 * Report once that a node is not watched.  Returns false if descriptors, watches or memory are
 * lacking, and the caller has to try again.
 */
bool xp_change_unwatched(struct xpoll_tree *tree, struct held *held, int error);
/* Remove the first change from the list and store it.  Returns false if there is none. */
bool xp_change_take(struct xpoll_tree *tree, struct xpoll_tree_change *change);
void xp_changes_free(struct xpoll_tree *tree);

/* --- watch_*.c ------------------------------------------------------------------------- */

/*
 * Watch a directory that is open as fd.  Returns 0, or an errno value.  held->fd is fd if the watch
 * needs it open.
 */
int xp_watch_add(struct xpoll_tree *tree, struct held *held, int fd);
/*
 * The directory that is open as fd has the device and inode of the watched one.  Returns true if it
 * is nevertheless another one, because the watch has ended: the report of that may have been lost.
 */
bool xp_watch_has_ended(struct xpoll_tree *tree, const struct held *held, int fd);
void xp_watch_remove(struct xpoll_tree *tree, struct held *held);
/*
 * Watch the contents of a file in the directory that is open as fd, unless they are watched.
 * Returns false if the caller has to try again.
 */
bool xp_watch_file(struct xpoll_tree *tree, struct node *node, int fd);

/* --- forget.c -------------------------------------------------------------------------- */

/* Remove a node and all below it; report each as deleted if `reports`. */
void xp_node_remove(struct xpoll_tree *tree, struct node *node, bool reports);
/* Remove all nodes below a node. */
void xp_node_empty(struct xpoll_tree *tree, struct node *node, bool reports);

/* --- enter.c ----------------------------------------------------------------------- */

/* Enter and check the directories that are due. */
void xp_tree_catch_up(struct xpoll_tree *tree);
/* Returns true if the program wants this entry to be skipped. */
bool xp_tree_skips(const struct xpoll_tree *tree, const struct node *folder, const char *name);
/*
 * Report a new entry, which is entered later if it is a directory.  Returns false without memory.
 */
bool xp_tree_found(struct xpoll_tree *tree, struct node *node, bool is_folder);

/* --- follow_*.c -------------------------------------------------------------------- */

/* Returns 0 or an errno value: ENOTSUP if the kernel does not report options.notes. */
int xp_follow_open(struct xpoll_tree *tree);
void xp_follow_close(struct xpoll_tree *tree);
/* Handle an event of the queue, which may be the timer TREE_SETTLE, and append its changes. */
void xp_follow_event(struct xpoll_tree *tree, const struct xpoll_event *event);
/* Handle all reports that were read, before the tree ends. */
void xp_follow_drain(struct xpoll_tree *tree);

#endif
