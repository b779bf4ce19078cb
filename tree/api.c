/* The calls of <xpoll_tree.h>. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tree.h"

#define TREE_FLAGS (XPOLL_TREE_FLAT | XPOLL_TREE_LINKS)
#define TREE_NOTES (XPOLL_NOTE_WRITE | XPOLL_NOTE_ATTRIB | XPOLL_NOTE_OPEN | XPOLL_NOTE_CLOSE | \
                    XPOLL_NOTE_CLOSE_WRITE | XPOLL_NOTE_READ)
/* After its deadline, xpoll_tree_next handles at most this many events that are no change. */
#define LATE_EVENTS_MOST 16
/* Notes about the root after which its path may lead elsewhere, or nowhere. */
#define ROOT_CHANGE_NOTES  (XPOLL_NOTE_DELETE | XPOLL_NOTE_RENAME | XPOLL_NOTE_REVOKE)

/*
 * Opens the queue with the best back end, whatever $XPOLL_BACKEND is: some back ends have no
 * xpoll_fd.
 */
static struct xpoll *queue_open(void)
{
	const char *best = NULL;
	struct xpoll_options options = { .size = sizeof options };

	if (xpoll_backends(&best, 1) > 0)
		options.backend = best;
	return xpoll_open(&options);
}

/* Check and copy the program's options; NULL leaves the defaults.  Returns 0 or an errno value. */
static int options_take(struct xpoll_tree_options *taken, const struct xpoll_tree_options *from)
{
	const unsigned char *bytes = (const unsigned char *)from;

	if (from == NULL)
		return 0;
	if (from->size < sizeof *taken)
		return EINVAL;
	for (size_t i = sizeof *taken; i < from->size; i++)
		if (bytes[i] != 0)
			return E2BIG;
	*taken = *from;
	return (taken->flags & ~TREE_FLAGS) != 0 || (taken->notes & ~TREE_NOTES) != 0 ? EINVAL : 0;
}

/*
 * Watch the root for its own removal or rename, and enter it and all directories below.  Returns 0
 * or an errno value.
 */
static int tree_begin(struct xpoll_tree *tree)
{
	int error = xp_tree_register(tree, (uint64_t)tree->root_fd, XPOLL_FILT_VNODE,
	                             ROOT_CHANGE_NOTES, tree);

	if (error == 0)
		error = xp_tree_timers_make(tree);
	if (error == 0)
		error = xp_follow_open(tree);
	if (error != 0)
		return error;
	tree->quiet = true;
	xp_tree_make_due(tree, tree->root->held);
	xp_tree_check_due(tree);
	tree->quiet = false;
	if (!tree->root->held->is_watched)
		return tree->root->held->error != 0 ? tree->root->held->error : ENOENT;
	if (tree->first_pending == NULL && !tree->missed)
		return 0;
	/* Changes were found, or lost: an event of this timer makes xpoll_tree_fd readable. */
	return xp_tree_set_timer(tree, TREE_RETRY_TIMER, 1);
}

/*
 * Initialise a tree.  Returns 0 or an errno value; in both cases xpoll_tree_close frees what was
 * allocated.
 */
static int tree_init(struct xpoll_tree *tree, const char *path)
{
	tree->last_due = &tree->due;
	tree->root_fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	if (tree->root_fd < 0)
		return errno;
	tree->root = xp_node_new(tree, NULL, path);
	if (tree->root == NULL || !xp_node_make_folder(tree, tree->root))
		return ENOMEM;
	tree->queue = queue_open();
	return tree->queue == NULL ? errno : tree_begin(tree);
}

struct xpoll_tree *xpoll_tree_open(const char *path, const struct xpoll_tree_options *options)
{
	struct xpoll_tree_options taken = { 0 };
	struct xpoll_tree *tree = NULL;
	int error = path != NULL ? options_take(&taken, options) : EINVAL;

	if (error == 0) {
		tree = calloc(1, sizeof *tree);
		error = ENOMEM;
	}
	if (tree != NULL) {
		tree->options = taken;
		tree->root_fd = tree->inotify = -1;
		error = tree_init(tree, path);
	}
	if (error == 0)
		return tree;
	xpoll_tree_close(tree);
	errno = error;
	return NULL;
}

void xpoll_tree_close(struct xpoll_tree *tree)
{
	int saved = errno;

	if (tree == NULL)
		return;
	xp_changes_free(tree);
	/*
	 * Destroy the queue first: while it exists, each watched descriptor that is closed below
	 * costs a change of the queue.
	 */
	xpoll_destroy(tree->queue);
	xp_follow_close(tree);
	if (tree->root != NULL)
		xp_node_remove(tree, tree->root, false);
	while (tree->due != NULL) {
		struct held *held = tree->due;

		tree->due = held->next_due;
		free(held);
	}
	if (tree->root_fd >= 0)
		close(tree->root_fd);
	free(tree->names);
	free(tree);
	errno = saved;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/*
 * Returns how many nanoseconds of a timeout that began at start_ns are left; a timeout of 0 or less
 * (wait for ever) is returned as it is.
 */
static int64_t time_left(int64_t timeout_ns, int64_t start_ns)
{
	int64_t passed_ns;

	if (timeout_ns <= 0)
		return timeout_ns;
	passed_ns = now_ns() - start_ns;
	return passed_ns < timeout_ns ? timeout_ns - passed_ns : 0;
}

/* Returns true if the path that the program passed still leads to the root. */
static bool path_leads_to_root(const struct xpoll_tree *tree)
{
	const struct held *root = tree->root->held;
	struct stat now;

	return stat(tree->root->name, &now) == 0 && now.st_dev == root->dev &&
		now.st_ino == root->ino;
}

/* Handle a report about the root itself: append END, unless the path still leads to the root. */
static void root_event(struct xpoll_tree *tree, uint32_t notes)
{
	bool renamed = (notes & ROOT_CHANGE_NOTES) == XPOLL_NOTE_RENAME;

	if (path_leads_to_root(tree))
		return;
	xp_follow_drain(tree);
	if (!renamed)
		xp_node_remove_below(tree, tree->root, true);
	xp_change_append_notes(tree, XPOLL_TREE_END,
	                       renamed ? XPOLL_NOTE_RENAME : XPOLL_NOTE_DELETE, tree->root);
	tree->ended = true;
}

static void tree_event(struct xpoll_tree *tree, const struct xpoll_event *event)
{
	if (event->filter == XPOLL_FILT_TIMER && event->ident == TREE_RETRY_TIMER) {
		tree->is_retry_armed = false;
		xp_tree_check_due(tree);
	} else if (event->udata == tree) {
		root_event(tree, event->fflags);
	} else {
		xp_follow_event(tree, event);
	}
}

int xpoll_tree_next(struct xpoll_tree *tree, struct xpoll_tree_change *change,
                    int64_t timeout_ns)
{
	int64_t start_ns = timeout_ns > 0 ? now_ns() : 0, left_ns;
	struct xpoll_event event;
	int rc, late = 0;

	if (tree == NULL || change == NULL) {
		errno = EINVAL;
		return -1;
	}
	for (;;) {
		if (xp_change_take(tree, change))
			return 1;
		if (tree->ended) {
			errno = ESTALE;
			return -1;
		}
		left_ns = time_left(timeout_ns, start_ns);
		if (left_ns == 0 && late++ == LATE_EVENTS_MOST)
			return 0;
		/*
		 * Request one event at a time.  Handling an event may delete another registration,
		 * and free the struct held that the udata of that registration points to: a second
		 * event, fetched before, could be of that registration.
		 */
		rc = xpoll_event(tree->queue, NULL, 0, &event, 1, left_ns);
		if (rc <= 0)
			return rc;
		tree_event(tree, &event);
	}
}

int xpoll_tree_fd(struct xpoll_tree *tree)
{
	if (tree != NULL)
		return xpoll_fd(tree->queue);
	errno = EINVAL;
	return -1;
}

int xpoll_tree_wake(struct xpoll_tree *tree)
{
	if (tree != NULL)
		return xpoll_wake(tree->queue);
	errno = EINVAL;
	return -1;
}
