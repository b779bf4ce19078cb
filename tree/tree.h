/*
 * Declarations that the files of the tree share.
 *
 *   api.c               the calls of <xpoll_tree.h>
 *   follow_inotify.c    handles the kernel's reports, which have names (Linux)
 *   follow_vnode.c      handles the kernel's reports, which have no names (other systems)
 *   enter.c             opens, watches and reads directories
 *   forget.c            removes known names
 *   watch_inotify.c     adds and removes watches of inotify(7), and has a table of them (Linux)
 *   watch_vnode.c       adds and removes watches (other systems)
 *   changes.c           has the list of changes that xpoll_tree_next has not returned yet
 *   queue.c             registers with the queue, and has the list of directories to check
 *   nodes.c             has the known names
 *
 * Each file calls only those below it.
 *
 * The known names lag behind the file system, and each report of the kernel brings them one step
 * closer.  A directory is opened by the path that it has among the known names, and another
 * directory may have that path by now.  So a directory is watched first, then its parent is
 * compared with the known one, and then it is read.  A directory that has another parent, or that
 * moved, or whose watch ended, is put into the list `due`: xp_tree_check_due checks it again after
 * the reports that have arrived were handled, except those that wait for the second report of a
 * rename.
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
 * The watch of a node, and the children of a directory.  Every directory that is or will be entered
 * has one; with follow_vnode.c also every file that is or will be watched.
 */
struct held {
	struct node *node; /* NULL: the node was removed, and check_due_folders frees this struct */
	struct node *children; /* first child; NULL: none is known, or the node is a file */
	int fd; /* the descriptor that the watch needs open, or -1 */
	int wd; /* the watch descriptor of inotify(7), or -1; watch_vnode.c does not use it */
	bool is_watched; /* the kernel reports changes of the directory or file */
	bool is_due;     /* in the list tree->due of directories to check */
	bool rescan;     /* the next check reads the directory even if it was not replaced */
	/*
	 * for lack of resources a file in the directory is not watched: try again (never set with
	 * inotify)
	 */
	bool has_unwatched_files;
	bool checks_below; /* the next reading also has the known subdirectories checked */
	int error; /* errno value of the failed check, reported as UNWATCHED; 0: none */
	dev_t dev; /* device and inode number of the watched directory */
	ino_t ino;
	struct held *next_due; /* next in the list tree->due */
	struct held *next_watch; /* next in its chain of tree->watches */
};

/* An entry of a directory; the root is the directory that the program passed. */
struct node {
	struct node *parent; /* NULL: the root */
	struct node *next, **link; /* the next sibling; the pointer to this node in the list */
	struct node *next_name; /* next in its chain of tree->names */
	struct held *held; /* NULL: none */
	char *name; /* name in its directory; of the root: the path that the program passed */
	ino_t entry_ino; /* inode number as read from the directory; 0: unknown */
	unsigned scan; /* tree->scan of the last reading that found the entry */
	bool is_folder; /* a directory that is or will be entered: has a struct held */
	bool is_link; /* a symbolic link to a directory, which is entered if is_folder */
};

/* A change that xpoll_tree_next has not returned yet. */
struct pending {
	struct pending *next;
	int kind, error;
	uint32_t notes;
	char *path, *to; /* owned by this struct; `to` may be NULL */
};

struct follow; /* private to follow_inotify.c */

struct xpoll_tree {
	struct xpoll *queue;
	struct xpoll_tree_options options;
	struct node *root;
	int root_fd; /* descriptor of the root, open as long as the tree; -1: not opened yet */
	struct node **names; /* hash table by directory and name, with chains */
	size_t names_len, names_size; /* the size is a power of two */
	int inotify; /* descriptor of inotify(7); -1: none */
	struct held **watches; /* hash table by watch descriptor, with chains */
	size_t watches_len, watches_size;
	struct held *due, **last_due; /* list of directories to check, and its end */
	unsigned scan; /* number of readings of directories begun so far */
	/*
	 * number of directories entered (watched and read) so far; whenever it has grown,
	 * xp_tree_check_due repeats the checks of directories that were not found
	 */
	size_t entered;
	bool quiet;  /* in xpoll_tree_open: entries that are found are not reported */
	bool missed; /* a change was lost for lack of memory */
	/* retry_later has set TREE_RETRY_TIMER, whose event has the directories in `due` checked */
	bool is_retry_armed;
	/* TREE_SETTLE_TIMER is set: some reports wait for its event to be handled */
	bool is_settle_armed;
	bool ended;  /* END was appended: no change comes after END */
	/* list of changes to return; both NULL: empty */
	struct pending *first_pending, *last_pending;
	/* the change returned last: the program may still read its strings */
	struct pending *returned;
	struct follow *follow;
};

/*
 * idents of timers: `is_retry_armed` and `is_settle_armed` of struct xpoll_tree say what each is
 * for.
 */
enum { TREE_RETRY_TIMER = 1, TREE_SETTLE_TIMER = 2 };

/* --- nodes.c ----------------------------------------------------------------------- */

/*
 * Make a node for an entry, or for the root if parent is NULL.  Returns NULL if memory is lacking,
 * and sets tree->missed.
 */
struct node *xp_node_new(struct xpoll_tree *tree, struct node *parent, const char *name);
/* Returns the node of a name in a directory; NULL: the name is not known. */
struct node *xp_node_find(const struct xpoll_tree *tree, const struct node *parent,
                          const char *name);
/*
 * Allocate the struct held of a node, for its watch and its children.  Returns false if memory is
 * lacking.
 */
bool xp_node_make_held(struct xpoll_tree *tree, struct node *node);
/* Make a node a directory, with a struct held.  Returns false if memory is lacking. */
bool xp_node_make_folder(struct xpoll_tree *tree, struct node *node);
/*
 * Move a node, with all below it, to another parent and name.  Returns false if memory is lacking,
 * and then moves nothing.
 */
bool xp_node_move(struct xpoll_tree *tree, struct node *node, struct node *parent,
                  const char *name);
/* Remove a node from the table and from the list of its directory. */
void xp_node_unlink(struct xpoll_tree *tree, struct node *node);
/* Returns true if `node` is `above`, or below it. */
bool xp_node_is_at_or_below(const struct node *node, const struct node *above);
/*
 * Returns the path of a node, such as "src/base/list.h", or "" for the root; the caller frees it.
 * NULL: memory is lacking.
 */
char *xp_node_path(const struct node *node);
/* Returns the path of an entry that has no node, like xp_node_path. */
char *xp_node_child_path(const struct node *folder, const char *name);

/* --- queue.c --------------------------------------------------------------------------- */

/* Make a registration in the queue by XPOLL_ADD.  Returns 0 or an errno value. */
int xp_tree_register(struct xpoll_tree *tree, uint64_t ident, int filter, uint32_t fflags,
                     void *udata);
/*
 * Register the timers, disabled, so that setting one later takes no memory.  Returns 0 or an errno
 * value.
 */
int xp_tree_timers_make(struct xpoll_tree *tree);
/* Set, or set again, a timer that expires once, after_ns from now.  Returns 0 or an errno value. */
int xp_tree_set_timer(struct xpoll_tree *tree, uint64_t ident, int64_t after_ns);
/* Put a directory into the list `due`, so that the next xp_tree_check_due checks it. */
void xp_tree_make_due(struct xpoll_tree *tree, struct held *held);

/* --- changes.c --------------------------------------------------------------------- */

/* Append a change of this kind with the path of a node. */
void xp_change_append(struct xpoll_tree *tree, int kind, const struct node *node);
/* Append a rename of a node; takes over `path`, the node's former path (NULL: no memory). */
void xp_change_append_rename(struct xpoll_tree *tree, char *path, const struct node *node);
/* Append a change with notes, or add the notes to the last change if it has this kind and path. */
void xp_change_append_notes(struct xpoll_tree *tree, int kind, uint32_t notes,
                            const struct node *node);
/*
 * Append UNWATCHED for a node, with an errno value, unless held->error shows that it was appended
 * before.  Returns false if the error is a lack of descriptors, watches or memory, so that the
 * caller has to try again.
 */
bool xp_change_append_unwatched(struct xpoll_tree *tree, struct held *held, int error);
/*
 * Remove the first change from the list and store it in *change.  Returns false if the list is
 * empty.
 */
bool xp_change_take(struct xpoll_tree *tree, struct xpoll_tree_change *change);
void xp_changes_free(struct xpoll_tree *tree);

/* --- watch_*.c ------------------------------------------------------------------------- */

/*
 * Watch a directory that is open as fd.  Returns 0 or an errno value.  If the watch needs fd open,
 * held->fd is fd afterwards, and xp_watch_remove closes it.
 */
int xp_watch_add(struct xpoll_tree *tree, struct held *held, int fd);
/*
 * Called for a directory, open as fd, that has the device and inode number of the watched one.
 * Returns true if fd is another directory nevertheless: the watched one was removed, which ended
 * the watch, its inode number was reused, and the report of its end may have been lost.
 */
bool xp_watch_has_ended(struct xpoll_tree *tree, const struct held *held, int fd);
/* End the watch of a directory or file, if it has one. */
void xp_watch_remove(struct xpoll_tree *tree, struct held *held);
/*
 * Watch the contents of a file in the directory that is open as fd, unless the contents are
 * watched.  With inotify returns true at once, because the directory's watch reports them.  Returns
 * false if a resource is lacking and the caller has to try again.
 */
bool xp_watch_file(struct xpoll_tree *tree, struct node *node, int fd);

/* --- forget.c -------------------------------------------------------------------------- */

/* Remove a node and all below it; append a DELETE for each if `reports`. */
void xp_node_remove(struct xpoll_tree *tree, struct node *node, bool reports);
/* Remove all nodes below a node; append a DELETE for each if `reports`. */
void xp_node_remove_below(struct xpoll_tree *tree, struct node *node, bool reports);

/* --- enter.c ----------------------------------------------------------------------- */

/*
 * Check the directories in the list `due`, and enter those that are not watched or were replaced.
 */
void xp_tree_check_due(struct xpoll_tree *tree);
/*
 * Returns true for "." and "..", and if the program's `skip` leaves this entry out; false, without
 * calling `skip`, if there is no memory for the path.
 */
bool xp_tree_skips(const struct xpoll_tree *tree, const struct node *folder, const char *name);
/*
 * Report a new entry (unless tree->quiet), and put a directory into the list `due`, except with
 * XPOLL_TREE_FLAT.  Returns false if memory for that is lacking.
 */
bool xp_tree_found(struct xpoll_tree *tree, struct node *node, bool is_folder);

/* --- follow_*.c -------------------------------------------------------------------- */

/*
 * Prepare to get reports.  Returns 0 or an errno value; ENOTSUP: the system lacks some of the
 * program's notes.
 */
int xp_follow_open(struct xpoll_tree *tree);
void xp_follow_close(struct xpoll_tree *tree);
/*
 * Handle an event of the queue, also of the timer TREE_SETTLE_TIMER.  With inotify: read reports
 * and append their changes, and then check the directories in `due`.  Elsewhere: a report appends
 * the change of contents or attributes, and puts a directory into `due`; the timer's event, 5 ms
 * later, has the directories in `due` checked, so that one reading finds several changes.  If the
 * timer cannot be set, they are checked at once.
 */
void xp_follow_event(struct xpoll_tree *tree, const struct xpoll_event *event);
/*
 * Append the changes that the kernel has reported until now, without waiting for second reports of
 * renames.  Called just before END is appended.
 */
void xp_follow_drain(struct xpoll_tree *tree);

#endif
