/*
 * xpoll watch: --dir, a directory or, with -r, all that is below it.
 *
 * The queue reports that entries of a directory came or went, not which.  So
 * the entries of each are kept, and compared with what is there now.  Every
 * entry is held open: its descriptor watches what is in it, follows it when it
 * is renamed, and keeps its inode number from being used again, by which a
 * renamed entry is recognised.
 *
 * Directories that changed are looked through a moment later, all together, so
 * that a move from one to another is seen as one.
 *
 * A new directory is watched first and read then: what happens between the two
 * is seen by one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "watch.h"
#include "watch_tree.h"

#define MESSAGES 10 /* about what cannot be watched: then it is known */
#define GONE (XPOLL_NOTE_DELETE | XPOLL_NOTE_RENAME | XPOLL_NOTE_REVOKE)

static watch_handler node_changed;

static void node_unwatched(struct watch *w, const struct node *it, int error)
{
	char *path;

	if (error == 0 || error == ENOENT || error == ELOOP) /* gone, or a link now */
		return;
	w->partly = true;
	w->unwatched++;
	if (w->limit == 0 && error != EACCES && error != EPERM && error != ENAMETOOLONG)
		w->limit = error;
	if (w->unwatched > MESSAGES)
		return;
	path = node_path(it);
	tool_warn(w->usage, "%s: not watched: %s%s", path != NULL ? path : it->name,
	          watch_reason(error), w->unwatched == MESSAGES ?
	          "; further ones are not reported" : "");
	free(path);
}

/* What an entry is asked for.  The comparison shows what becomes of its name. */
static uint32_t node_notes(const struct watch *w, const struct node *it)
{
	uint32_t notes = w->notes & ~(XPOLL_NOTE_DELETE | XPOLL_NOTE_RENAME);

	if (it->is_file)
		return notes;
	if (!it->entered)
		return 0;
	return (notes & XPOLL_NOTE_ATTRIB) | XPOLL_NOTE_WRITE |
	       (it->parent == NULL ? GONE : 0);
}

/*
 * Hold what has the name, which may be another file than a moment ago, and
 * watch it: 0 or an errno.
 */
static int node_attach(struct watch *w, struct node *it)
{
	uint32_t notes;

	if (it->parent == NULL)
		it->fd = watch_open(AT_FDCWD, it->name, O_DIRECTORY);
	else
		it->fd = watch_open(it->parent->fd, it->name, O_NOFOLLOW);
	if (it->fd < 0)
		return errno == ENOTSUP ? 0 : errno;
	if (it->fd >= w->fds) {
		close(it->fd);
		it->fd = -1;
		return EMFILE;
	}
	if (node_identify(it) < 0)
		return errno;
	it->entered = it->is_folder && (w->recursive || it->parent == NULL);
	if (it->entered && node_depth(it) >= NODE_DEEPEST) {
		it->entered = false;
		return ENAMETOOLONG;
	}
	notes = node_notes(w, it);
	if (notes == 0)
		return 0;
	return watch_register(w, (uint64_t)it->fd, XPOLL_FILT_VNODE, XPOLL_ADD, notes, 0,
	                      &it->item);
}

static void show_node(struct watch *w, uint32_t what, const struct node *it)
{
	char *path = node_path(it);

	watch_show_name(w, "dir", what, path, NULL);
	free(path);
}

/* What is below comes first, as rm -r removes it; not what was never printed. */
static void show_deleted(struct watch *w, const struct node *it)
{
	if (it->item.happened == NULL)
		return;
	for (size_t i = 0; i < it->len; i++)
		show_deleted(w, it->children[i]);
	show_node(w, WATCH_DELETE, it);
}

static void show_renamed(struct watch *w, struct node *lost)
{
	char *from = node_path(lost);
	char *to = node_path(lost->match);

	node_take_place(lost, lost->match);
	watch_show_name(w, "dir", WATCH_RENAME, from, to);
	free(from);
	free(to);
}

/*
 * Watch a fresh node and all below it.  quietly: at the start nothing is news.
 * Returns 0 or an errno, about the node itself.
 */
static int node_begin(struct watch *w, struct node *it, bool quietly)
{
	struct changes changes = { 0 };
	int error;

	it->item.happened = node_changed;
	error = node_attach(w, it);
	if (error == 0 && it->entered)
		error = node_compare(it, w->excluded, &changes);
	if (!quietly)
		show_node(w, WATCH_CREATE, it);
	for (size_t i = 0; i < it->len; i++)
		node_unwatched(w, it->children[i],
		               node_begin(w, it->children[i], quietly));
	changes_free(&changes);
	return error;
}

/* --- When something happens ----------------------------------------------- */

static void node_soil(struct watch *w, struct node *it)
{
	if (it->dirty)
		return;
	it->dirty = true;
	it->next_dirty = w->dirty;
	w->dirty = it;
	watch_settle_soon(w);
}

static void node_release(struct node *it)
{
	for (size_t i = 0; i < it->len; i++)
		node_release(it->children[i]);
	if (it->fd >= 0)
		xpoll_close_fd(it->fd);
	it->fd = -1;
}

/* The directory that was asked for is gone, or called something else. */
static void root_gone(struct watch *w, struct node *root, bool renamed)
{
	if (renamed)
		show_node(w, WATCH_RENAME, root);
	else
		show_deleted(w, root);
	node_release(root);
	w->sources--;
}

static bool root_is_there(const struct node *root)
{
	struct stat now;

	return stat(root->name, &now) == 0 && now.st_dev == root->dev &&
	       now.st_ino == root->ino;
}

/*
 * The kernel had to drop reports, so every entry is reported on suspicion: it
 * is informed once that something may be missing.
 */
static void node_suspected(struct watch *w, const struct node *it)
{
	struct watch_record record = { .source = "dir" };

	watch_settle_soon(w);
	if (w->overflowed)
		return;
	w->overflowed = true;
	while (it->parent != NULL)
		it = it->parent;
	watch_say(&record, "overflow");
	watch_about(&record, "", "path", it->name);
	watch_show(w, &record);
}

static void node_changed(struct watch *w, struct watch_item *item,
                         const struct xpoll_event *event)
{
	struct node *it = (struct node *)item;
	struct watch_record record = { .source = "dir" };
	uint32_t fflags = event->fflags;
	struct stat now;
	char *path;

	if (it->is_folder) {
		if ((fflags & XPOLL_NOTE_WRITE) != 0)
			node_soil(w, it);
		if (it->parent == NULL && (fflags & GONE) != 0 && !root_is_there(it)) {
			root_gone(w, it, (fflags & GONE) == XPOLL_NOTE_RENAME);
			return;
		}
		fflags &= XPOLL_NOTE_ATTRIB;
	}
	if (event->data != 0) {
		node_suspected(w, it);
		fflags &= WATCH_CERTAIN;
	}
	/* Being deleted changes the attributes too, which is no news. */
	if (fstat(it->fd, &now) < 0 || now.st_nlink == 0)
		return;
	path = node_path(it);
	watch_say_notes(w, &record, fflags);
	watch_about(&record, "", "path", path);
	watch_show(w, &record);
	free(path);
}

void watch_tree_settle(struct watch *w)
{
	struct changes changes = { 0 };
	struct node_list *lost = &changes.lost;

	while (w->dirty != NULL) {
		struct node *folder = w->dirty;

		w->dirty = folder->next_dirty;
		folder->dirty = false;
		node_unwatched(w, folder, node_compare(folder, w->excluded, &changes));
	}
	w->overflowed = false;
	changes_sort(&changes);
	for (size_t i = 0; i < lost->len; i++)
		if (lost->nodes[i]->match == NULL)
			show_deleted(w, lost->nodes[i]);
	for (size_t i = 0; i < lost->len; i++)
		if (lost->nodes[i]->match != NULL)
			show_renamed(w, lost->nodes[i]);
	for (size_t i = 0; i < changes.found.len; i++) {
		struct node *found = changes.found.nodes[i];

		if (found->match == NULL && !node_is_gone(found))
			node_unwatched(w, found, node_begin(w, found, false));
	}
	changes_free(&changes);
}

static void root_close(struct watch *w, struct watch_item *item)
{
	(void)w;
	node_free((struct node *)item);
}

int watch_add_tree(struct watch *w, const struct tool_item *argument)
{
	struct node *root = node_root(argument->text);
	int error;

	if (root == NULL)
		return watch_refuse(w, argument, errno);
	root->item.close = root_close;
	error = node_begin(w, root, true);
	if (error == 0)
		error = w->limit;
	if (error != 0) {
		node_free(root);
		return watch_refuse(w, argument, error);
	}
	watch_link(w, &root->item);
	w->sources++;
	return TOOL_GO_ON;
}
