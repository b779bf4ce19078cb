/* xpoll watch --dir: a directory, or with -r a tree of directories, by <xpoll_tree.h>. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include <xpoll_tree.h>

#include "watch.h"

/* The notes that a tree can report. */
#define NOTES (XPOLL_NOTE_WRITE | XPOLL_NOTE_ATTRIB | XPOLL_NOTE_OPEN | XPOLL_NOTE_CLOSE | \
               XPOLL_NOTE_CLOSE_WRITE | XPOLL_NOTE_READ)
#define MESSAGES 10 /* most messages about entries that cannot be watched */

struct tree {
	struct watch_item item;
	struct watch *watch;
	struct xpoll_tree *tree;
	char *path; /* of the directory, as the argument gave it, without slashes at its end */
};

/*
 * Returns the path of an entry: that of the directory, and the path `below` it.  The caller frees
 * it; NULL: no memory.
 */
static char *tree_path(const struct tree *it, const char *below)
{
	size_t len = strlen(it->path);
	char *path = malloc(len + strlen(below) + 2);

	if (path == NULL)
		return NULL;
	memcpy(path, it->path, len + 1);
	/* "/" itself ends with the slash already. */
	if (*below != '\0' && path[len - 1] != '/')
		path[len++] = '/';
	memcpy(path + len, below, strlen(below) + 1);
	return path;
}

/*
 * The option `skip` of the tree: returns true if a pattern of --exclude matches the entry.  A
 * pattern without a slash is matched with the name, one with a slash with the path.
 */
static int tree_skips(void *argument, const char *below)
{
	const struct tree *it = argument;
	const struct tool_list *excluded = it->watch->excluded;
	const char *slash = strrchr(below, '/');
	const char *name = slash != NULL ? slash + 1 : below;
	int result = 0;

	for (int i = 0; i < excluded->len && !result; i++) {
		const char *pattern = excluded->items[i].text;
		char *path = strchr(pattern, '/') != NULL ? tree_path(it, below) : NULL;

		result = fnmatch(pattern, path != NULL ? path : name,
		                 path != NULL ? FNM_PATHNAME : 0) == 0;
		free(path);
	}
	return result;
}

static void show_unwatched(struct watch *w, const char *path, int error)
{
	w->incomplete = true;
	w->unwatched++;
	if (w->limit == 0 && error != EACCES && error != EPERM && error != ENAMETOOLONG)
		w->limit = error;
	if (w->unwatched <= MESSAGES)
		tool_warn(w->usage, "%s: not watched: %s%s", path, watch_reason(error),
		          w->unwatched == MESSAGES ? "; further ones are not reported" : "");
}

static void show_notes(struct watch *w, const char *path, const struct xpoll_tree_change *change)
{
	struct watch_record record = { .source = "dir" };

	if (change->kind == XPOLL_TREE_LOOK)
		watch_say(&record, "overflow");
	else
		watch_say_notes(w, &record, change->notes);
	watch_about(&record, "", "path", path);
	watch_show(w, &record);
}

static void show_change(struct watch *w, struct tree *it, const struct xpoll_tree_change *change)
{
	char *path = tree_path(it, change->path);
	char *to = change->to != NULL ? tree_path(it, change->to) : NULL;

	if (path == NULL) {
		free(to);
		return;
	}
	switch (change->kind) {
	case XPOLL_TREE_CREATE:
		watch_show_name(w, "dir", WATCH_CREATE, path, NULL);
		break;
	case XPOLL_TREE_DELETE:
		watch_show_name(w, "dir", WATCH_DELETE, path, NULL);
		break;
	case XPOLL_TREE_RENAME:
		watch_show_name(w, "dir", WATCH_RENAME, path, to);
		break;
	case XPOLL_TREE_UNWATCHED:
		show_unwatched(w, path, change->error);
		break;
	case XPOLL_TREE_END:
		watch_show_name(w, "dir", change->notes & XPOLL_NOTE_RENAME ? WATCH_RENAME
		                                                            : WATCH_DELETE,
		                path, NULL);
		w->sources--;
		break;
	default:
		show_notes(w, path, change);
	}
	free(path);
	free(to);
}

static void tree_changed(struct watch *w, struct watch_item *item,
                         const struct xpoll_event *event)
{
	struct tree *it = (struct tree *)item;
	struct xpoll_tree_change change;
	int rc = 0;

	(void)event;
	/*
	 * Check the end before each change: if standard output is a file of the tree, each line
	 * causes the next change, so the loop might not end.
	 */
	while (!watch_has_ended(w, false, watch_now_ns()) &&
	       (rc = xpoll_tree_next(it->tree, &change, 0)) > 0)
		show_change(w, it, &change);
	if (rc < 0 && errno == ESTALE) {
		/* After its end the tree's descriptor may stay readable: watch it no longer. */
		(void)xpoll_forget_fd(xpoll_tree_fd(it->tree));
	} else if (rc < 0 && errno != EINTR) {
		tool_warn(w->usage, "%s: %s", it->path, strerror(errno));
		w->failed = true;
	}
}

static void tree_free(struct tree *it)
{
	int fd = it->tree != NULL ? xpoll_tree_fd(it->tree) : -1;

	if (fd >= 0)
		xpoll_forget_fd(fd);
	xpoll_tree_close(it->tree);
	free(it->path);
	free(it);
}

static void tree_close(struct watch *w, struct watch_item *item)
{
	(void)w;
	tree_free((struct tree *)item);
}

/*
 * Watch a tree, and print messages about entries that cannot be watched.  Returns 0 or an errno
 * value, also if a resource is lacking for an entry.
 */
static int tree_open(struct watch *w, struct tree *it)
{
	const struct xpoll_tree_options options = {
		.size = sizeof options,
		.flags = w->recursive ? 0 : XPOLL_TREE_FLAT,
		.notes = w->notes & NOTES,
		.skip = tree_skips,
		.argument = it,
	};
	int fd;

	it->tree = xpoll_tree_open(it->path, &options);
	if (it->tree == NULL)
		return errno;
	fd = xpoll_tree_fd(it->tree);
	if (fd < 0)
		return errno;
	w->sources++;
	tree_changed(w, &it->item, NULL);
	if (w->limit != 0)
		return w->limit;
	return watch_register(w, (uint64_t)fd, XPOLL_FILT_READ, XPOLL_ADD, 0, 0, &it->item);
}

int watch_add_tree(struct watch *w, const struct tool_item *argument)
{
	struct tree *it = calloc(1, sizeof *it);
	int error = ENOMEM;

	if (it != NULL) {
		it->item.happened = tree_changed;
		it->item.close = tree_close;
		it->watch = w;
		it->path = strdup(argument->text);
	}
	if (it != NULL && it->path != NULL) {
		for (size_t len = strlen(it->path); len > 1 && it->path[len - 1] == '/'; len--)
			it->path[len - 1] = '\0';
		error = tree_open(w, it);
	}
	if (error == 0) {
		watch_link(w, &it->item);
		return TOOL_GO_ON;
	}
	if (it != NULL)
		tree_free(it);
	return watch_refuse(w, argument, error);
}
