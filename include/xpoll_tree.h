/*
 * xpoll: a directory tree as one thing to watch.
 *
 * A tree reports changes of the names below a directory, however deep, and, if `notes` requests
 * it, of the contents of the files.  Directories that are made, moved, removed or replaced are
 * followed, and entries made in a new directory before it was watched are reported like all others.
 *
 * These functions are part of libxpoll, except on Windows, and use nothing but <xpoll.h>.  The
 * reference is xpoll_tree_open(3).
 */
#ifndef XPOLL_TREE_H
#define XPOLL_TREE_H

#include <xpoll.h>

#ifdef __cplusplus
extern "C" {
#endif

struct xpoll_tree; /* opaque */

/* Flags. */
#define XPOLL_TREE_FLAT  0x00000001u /* the directory alone, and not those below it */
#define XPOLL_TREE_LINKS 0x00000002u /* enter directories that symbolic links lead to */

struct xpoll_tree_options {
	size_t size;    /* sizeof(struct xpoll_tree_options) */
	uint32_t flags; /* 0, or any of XPOLL_TREE_FLAT and XPOLL_TREE_LINKS */
	uint32_t notes; /* XPOLL_NOTE_WRITE, ATTRIB, OPEN, READ, CLOSE, CLOSE_WRITE; 0: names */
	/* If not NULL: entries for which skip returns another value than 0 are left out. */
	int (*skip)(void *argument, const char *path);
	void *argument; /* passed to skip */
};

/* Kinds of changes. */
#define XPOLL_TREE_CREATE    1 /* path is new */
#define XPOLL_TREE_DELETE    2 /* path is gone; entries below a directory are reported before it */
#define XPOLL_TREE_RENAME    3 /* path is called `to` now, and all below it is there, too */
#define XPOLL_TREE_CHANGE    4 /* `notes` happened to the file; ATTRIB: or directory */
#define XPOLL_TREE_LOOK      5 /* reports were dropped: anything below path may have changed */
#define XPOLL_TREE_UNWATCHED 6 /* path is in the tree and cannot be watched now: see `error` */
#define XPOLL_TREE_END       7 /* the directory itself is gone, or has another name */

struct xpoll_tree_change {
	int kind;
	int error;        /* UNWATCHED: the errno value; else 0 */
	uint32_t notes;   /* CHANGE: XPOLL_NOTE_...; END: DELETE or RENAME; else 0 */
	const char *path; /* relative to the directory; "": the directory itself */
	const char *to;   /* RENAME: the new path; else NULL */
};

/*
 * Watch a directory and all below it.  options may be NULL.
 *
 * Returns the tree; release it with xpoll_tree_close.
 * Errors: EINVAL, E2BIG, ENOTDIR, those of open(2), of xpoll_open and of XPOLL_FILT_VNODE, for
 * the directory itself.  Entries that cannot be watched are reported as UNWATCHED.
 */
XPOLL_API struct xpoll_tree *xpoll_tree_open(const char *path,
                                             const struct xpoll_tree_options *options);

/*
 * Store the next change; its strings are valid until the next call with this tree.
 *
 * Returns 1, or 0 on timeout (nanoseconds; < 0: none) or after xpoll_tree_wake.
 * Errors: EINTR, ESTALE (after END), and those of xpoll_event.
 */
XPOLL_API int xpoll_tree_next(struct xpoll_tree *tree, struct xpoll_tree_change *change,
                              int64_t timeout_ns);

/*
 * Returns a descriptor that is readable when xpoll_tree_next with timeout 0 may have a change.
 * Errors: ENOTSUP (the back end has no descriptor for a queue).
 */
XPOLL_API int xpoll_tree_fd(struct xpoll_tree *tree);

/* Make a call of xpoll_tree_next that waits return 0, or else the next one.  Async-signal-safe. */
XPOLL_API int xpoll_tree_wake(struct xpoll_tree *tree);

/* Release a tree.  NULL is ignored. */
XPOLL_API void xpoll_tree_close(struct xpoll_tree *tree);

#ifdef __cplusplus
}
#endif

#endif
