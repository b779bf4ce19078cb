/*
 * xpoll watch: what is known of directories, and what has changed in them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "watch_tree.h"

struct entry {
	char *name;
	ino_t ino;
};

struct entries {
	struct entry *at; /* by name */
	size_t len, cap;
};

/* --- Nodes ---------------------------------------------------------------- */

static void node_set(struct node *it, const struct stat *status)
{
	it->is_file = S_ISREG(status->st_mode);
	it->is_folder = S_ISDIR(status->st_mode);
	it->dev = status->st_dev;
	it->ino = status->st_ino;
}

static struct node *node_new(struct node *parent, const char *name,
                             const struct stat *status)
{
	struct node *it = calloc(1, sizeof *it);

	if (it == NULL)
		return NULL;
	it->name = strdup(name);
	if (it->name == NULL) {
		free(it);
		return NULL;
	}
	it->parent = parent;
	it->fd = -1;
	node_set(it, status);
	return it;
}

int node_identify(struct node *it)
{
	struct stat now;

	if (fstat(it->fd, &now) < 0)
		return -1;
	if (now.st_dev != it->dev || now.st_ino != it->ino)
		it->entry_ino = now.st_ino;
	node_set(it, &now);
	return 0;
}

struct node *node_root(const char *path)
{
	struct stat status;
	struct node *it;
	size_t len;

	if (stat(path, &status) < 0)
		return NULL;
	if (!S_ISDIR(status.st_mode)) {
		errno = ENOTDIR;
		return NULL;
	}
	it = node_new(NULL, path, &status);
	if (it == NULL)
		return NULL;
	for (len = strlen(it->name); len > 1 && it->name[len - 1] == '/'; len--)
		it->name[len - 1] = '\0';
	return it;
}

void node_free(struct node *it)
{
	for (size_t i = 0; i < it->len; i++)
		node_free(it->children[i]);
	if (it->fd >= 0)
		xpoll_close_fd(it->fd);
	free(it->children);
	free(it->name);
	free(it);
}

char *node_path(const struct node *it)
{
	size_t size = 1;
	char *path, *at;

	for (const struct node *up = it; up != NULL; up = up->parent)
		size += strlen(up->name) + 1;
	path = malloc(size);
	if (path == NULL)
		return NULL;
	at = path + size - 1;
	*at = '\0';
	for (; it != NULL; it = it->parent) {
		size_t len = strlen(it->name);

		at -= len;
		memcpy(at, it->name, len);
		/* "/" itself ends with the slash already. */
		if (it->parent != NULL && strcmp(it->parent->name, "/") != 0)
			*--at = '/';
	}
	memmove(path, at, strlen(at) + 1);
	return path;
}

/* --- Reading a directory -------------------------------------------------- */

/* A pattern without a slash is about the name, one with a slash about the path. */
static bool is_excluded(struct node *folder, char *name,
                        const struct tool_list *excluded)
{
	const struct node entry = { .parent = folder, .name = name };
	bool result = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;

	for (int i = 0; i < excluded->len && !result; i++) {
		const char *pattern = excluded->items[i].text;
		bool whole = strchr(pattern, '/') != NULL;
		char *path = whole ? node_path(&entry) : NULL;

		result = whole ? path != NULL && fnmatch(pattern, path, FNM_PATHNAME) == 0
		               : fnmatch(pattern, name, 0) == 0;
		free(path);
	}
	return result;
}

static int entry_order(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static int entries_append(struct entries *entries, const struct dirent *from)
{
	struct entry *it;

	if (entries->len == entries->cap) {
		size_t cap = entries->cap > 0 ? 2 * entries->cap : 64;
		struct entry *grown = realloc(entries->at, cap * sizeof *grown);

		if (grown == NULL)
			return ENOMEM;
		entries->at = grown;
		entries->cap = cap;
	}
	it = &entries->at[entries->len];
	it->name = strdup(from->d_name);
	if (it->name == NULL)
		return ENOMEM;
	it->ino = from->d_ino;
	entries->len++;
	return 0;
}

static void entries_free(struct entries *entries)
{
	for (size_t i = 0; i < entries->len; i++)
		free(entries->at[i].name);
	free(entries->at);
}

/* A deleted directory has no entries; otherwise 0 or an errno. */
static int entries_read(struct node *folder, const struct tool_list *excluded,
                        struct entries *entries)
{
	int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *from;
	int error = 0;

	if (stream == NULL) {
		error = errno;
		if (fd >= 0)
			close(fd);
		return error == ENOENT ? 0 : error;
	}
	while (error == 0) {
		errno = 0;
		from = readdir(stream);
		if (from == NULL) {
			error = errno == ENOENT ? 0 : errno;
			break;
		}
		if (!is_excluded(folder, from->d_name, excluded))
			error = entries_append(entries, from);
	}
	closedir(stream);
	if (entries->len > 1)
		qsort(entries->at, entries->len, sizeof *entries->at, entry_order);
	return error;
}

/* --- Comparing ------------------------------------------------------------ */

static int list_reserve(struct node_list *list, size_t more)
{
	size_t cap = list->len + more;
	struct node **grown;

	if (cap <= list->cap)
		return 0;
	cap += cap / 2;
	grown = realloc(list->nodes, cap * sizeof(struct node *));
	if (grown == NULL)
		return ENOMEM;
	list->nodes = grown;
	list->cap = cap;
	return 0;
}

static void list_append(struct node_list *list, struct node *it)
{
	list->nodes[list->len++] = it;
}

/* The node of a new entry; NULL if it is gone again, or there is no memory. */
static struct node *entry_node(struct node *folder, const struct entry *entry)
{
	struct stat status;
	struct node *it;

	if (fstatat(folder->fd, entry->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return NULL;
	it = node_new(folder, entry->name, &status);
	if (it != NULL)
		it->entry_ino = entry->ino;
	return it;
}

/* Both are sorted by name: one pass.  The lists and now have room. */
static void merge(struct node *folder, const struct entries *entries,
                  struct node_list *now, struct changes *changes)
{
	size_t i = 0, k = 0;

	while (i < folder->len || k < entries->len) {
		struct node *child = i < folder->len ? folder->children[i] : NULL;
		const struct entry *entry = k < entries->len ? &entries->at[k] : NULL;
		int order = child == NULL ? 1 : entry == NULL ? -1
		            : strcmp(child->name, entry->name);
		struct node *fresh;

		i += order <= 0;
		k += order >= 0;
		if (order == 0 && child->entry_ino == entry->ino) {
			list_append(now, child);
			continue;
		}
		if (order <= 0) {
			child->lost = true;
			list_append(&changes->lost, child);
		}
		fresh = order >= 0 ? entry_node(folder, entry) : NULL;
		if (fresh != NULL) {
			list_append(&changes->found, fresh);
			list_append(now, fresh);
		}
	}
}

int node_compare(struct node *folder, const struct tool_list *excluded,
                 struct changes *changes)
{
	struct entries entries = { 0 };
	struct node_list now = { 0 };
	int error;

	if (folder->fd < 0)
		return 0;
	error = entries_read(folder, excluded, &entries);
	if (error == 0)
		error = list_reserve(&now, entries.len);
	if (error == 0)
		error = list_reserve(&changes->lost, folder->len);
	if (error == 0)
		error = list_reserve(&changes->found, entries.len);
	if (error == 0) {
		merge(folder, &entries, &now, changes);
		free(folder->children);
		folder->children = now.nodes;
		folder->len = now.len;
	} else {
		free(now.nodes);
	}
	entries_free(&entries);
	return error;
}

static int inode_order(const struct node *a, const struct node *b)
{
	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	return a->ino == b->ino ? 0 : a->ino < b->ino ? -1 : 1;
}

static int lost_by_inode(const void *a, const void *b)
{
	return inode_order(*(struct node *const *)a, *(struct node *const *)b);
}

int node_depth(const struct node *it)
{
	int depth = 0;

	for (; it->parent != NULL; it = it->parent)
		depth++;
	return depth;
}

static int lost_by_depth(const void *a, const void *b)
{
	const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;
	int deeper = node_depth(y) - node_depth(x);

	return deeper != 0 ? deeper : strcmp(x->name, y->name);
}

/* How many levels there are below it. */
static int node_height(const struct node *it)
{
	int height = 0;

	for (size_t i = 0; i < it->len; i++) {
		int below = 1 + node_height(it->children[i]);

		height = below > height ? below : height;
	}
	return height;
}

bool node_is_gone(const struct node *it)
{
	for (; it != NULL; it = it->parent)
		if (it->lost && it->match == NULL)
			return true;
	return false;
}

/*
 * What was moved into a directory that is gone now, is gone too; and if it is
 * a directory itself, so is what was moved into that.
 */
static void drop_vain_matches(struct node_list *lost)
{
	bool again = true;

	while (again) {
		again = false;
		for (size_t i = 0; i < lost->len; i++) {
			struct node *it = lost->nodes[i];

			if (it->match == NULL || !node_is_gone(it->match))
				continue;
			it->match->match = NULL;
			it->match = NULL;
			again = true;
		}
	}
}

void changes_sort(struct changes *changes)
{
	struct node_list *lost = &changes->lost;

	if (lost->len == 0)
		return;
	qsort(lost->nodes, lost->len, sizeof(struct node *), lost_by_inode);
	for (size_t i = 0; i < changes->found.len; i++) {
		struct node *found = changes->found.nodes[i];
		struct node **same = bsearch(&found, lost->nodes, lost->len,
		                             sizeof(struct node *), lost_by_inode);

		/* Only while a node holds its file can no other have its number. */
		if (same == NULL || (*same)->fd < 0 || (*same)->match != NULL)
			continue;
		if (node_depth(found) + node_height(*same) > NODE_DEEPEST)
			continue;
		(*same)->match = found;
		found->match = *same;
	}
	drop_vain_matches(lost);
	qsort(lost->nodes, lost->len, sizeof(struct node *), lost_by_depth);
}

void node_take_place(struct node *lost, struct node *found)
{
	struct node *folder = found->parent;
	char *name = lost->name;

	for (size_t i = 0; i < folder->len; i++)
		if (folder->children[i] == found)
			folder->children[i] = lost;
	lost->lost = false;
	lost->parent = folder;
	lost->entry_ino = found->entry_ino;
	lost->name = found->name;
	found->name = name;
}

void changes_free(struct changes *changes)
{
	struct node_list *lost = &changes->lost;

	/* A matched one lives on, perhaps below one that does not. */
	for (size_t i = 0; i < lost->len; i++) {
		if (lost->nodes[i]->match == NULL)
			continue;
		node_free(lost->nodes[i]->match);
		lost->nodes[i]->match = NULL;
		lost->nodes[i] = NULL;
	}
	for (size_t i = 0; i < lost->len; i++)
		if (lost->nodes[i] != NULL)
			node_free(lost->nodes[i]);
	free(lost->nodes);
	free(changes->found.nodes);
}
