/*
 * xpoll watch --file: one file by its name.
 *
 * The queue watches an open file, whatever its name, but users of --file mean the name.  Programs
 * replace a file by renaming a new one over it, so the directory is watched, too, and when the name
 * refers to another file, that one is watched from then on.  All files of --file in a directory
 * share the registration of the directory.
 *
 * A file is watched first, and then its device and inode are stored, so no change is missed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "watch.h"

/* Notes after which the name may refer to another file, or to none. */
#define GONE (XPOLL_NOTE_DELETE | XPOLL_NOTE_RENAME | XPOLL_NOTE_REVOKE)

struct file {
	struct watch_item item;
	struct folder *folder;
	struct file *sibling; /* next file in the list folder->files */
	const char *path;
	int fd;               /* the watched file; -1: no file has this name now */
	bool ended;           /* no longer a source: no event reports a new file of this name */
	dev_t dev;            /* device and inode number of the watched file */
	ino_t ino;
};

/* The directory of one or more files. */
struct folder {
	struct watch_item item;
	char *path;
	int fd;     /* -1: the directory cannot be watched, or is gone */
	bool dirty; /* names were added or removed: watch_file_settle compares them */
	bool gone;  /* the directory was moved or removed */
	struct file *files;
};

static watch_handler file_changed;
static watch_handler folder_changed;

static void file_release(struct file *it)
{
	if (it->fd >= 0)
		xpoll_close_fd(it->fd);
	it->fd = -1;
}

static void file_close(struct watch *w, struct watch_item *item)
{
	(void)w;
	file_release((struct file *)item);
	free(item);
}

/* Watch the file that has the name now.  Returns 0 or an errno value. */
static int file_attach(struct watch *w, struct file *it)
{
	struct stat now;
	int error;

	it->fd = watch_open(it->path, 0);
	if (it->fd < 0)
		return errno;
	error = watch_register(w, (uint64_t)it->fd, XPOLL_FILT_VNODE, XPOLL_ADD,
	                       w->notes | GONE | XPOLL_NOTE_LINK, 0, &it->item);
	if (error == 0 && fstat(it->fd, &now) < 0)
		error = errno;
	if (error == 0 && S_ISDIR(now.st_mode))
		error = EISDIR;
	if (error != 0) {
		file_release(it);
		return error;
	}
	it->dev = now.st_dev;
	it->ino = now.st_ino;
	return 0;
}

/*
 * If another file has the name now, print that and watch the new one; if none has, print that.
 * shown: a line has already said that the old file is gone.
 */
static void file_follow(struct watch *w, struct file *it, bool shown)
{
	struct stat now;
	int error;

	if (it->fd >= 0) {
		if (stat(it->path, &now) == 0 && now.st_dev == it->dev &&
		    now.st_ino == it->ino)
			return;
		if (!shown)
			watch_show_name(w, "file", WATCH_DELETE, it->path, NULL);
		file_release(it);
	}
	error = file_attach(w, it);
	if (error == 0) {
		watch_show_name(w, "file", WATCH_CREATE, it->path, NULL);
	} else if (error != ENOENT && error != ENOTDIR) {
		tool_warn(w->usage, "%s: not watched: %s", it->path, watch_reason(error));
		w->incomplete = true;
	}
	if (it->fd < 0 && it->folder->fd < 0 && !it->ended) {
		it->ended = true;
		w->sources--;
	}
}

static void file_changed(struct watch *w, struct watch_item *item,
                         const struct xpoll_event *event)
{
	struct file *it = (struct file *)item;
	struct watch_record record = { .source = "file" };
	uint32_t fflags = event->fflags;

	if ((fflags & XPOLL_NOTE_DELETE) != 0) /* a deletion changes attributes and links, too */
		fflags &= ~(XPOLL_NOTE_ATTRIB | XPOLL_NOTE_LINK);
	if (event->data != 0) { /* reports were dropped */
		watch_say(&record, "overflow");
		fflags &= WATCH_CERTAIN;
	}
	watch_say_notes(w, &record, fflags);
	watch_about(&record, "", "path", it->path);
	watch_show(w, &record);
	if ((event->fflags & (GONE | XPOLL_NOTE_LINK)) != 0)
		file_follow(w, it, (event->fflags & GONE) != 0);
}

/*
 * A directory has changed.  Its names are compared a little later: meanwhile the report of a file
 * itself arrives, which says more about how the file was lost.
 */
static void folder_changed(struct watch *w, struct watch_item *item,
                           const struct xpoll_event *event)
{
	struct folder *folder = (struct folder *)item;

	folder->dirty = true;
	folder->gone = folder->gone || (event->fflags & GONE) != 0;
	watch_settle_soon(w);
}

static void folder_settle(struct watch *w, struct folder *folder)
{
	folder->dirty = false;
	if (folder->gone && folder->fd >= 0) {
		xpoll_close_fd(folder->fd);
		folder->fd = -1;
	}
	for (struct file *it = folder->files; it != NULL; it = it->sibling)
		file_follow(w, it, false);
}

void watch_file_settle(struct watch *w)
{
	for (struct watch_item *item = w->items; item != NULL; item = item->next)
		if (item->happened == folder_changed && ((struct folder *)item)->dirty)
			folder_settle(w, (struct folder *)item);
}

static void folder_close(struct watch *w, struct watch_item *item)
{
	struct folder *folder = (struct folder *)item;

	(void)w;
	if (folder->fd >= 0)
		xpoll_close_fd(folder->fd);
	free(folder->path);
	free(folder);
}

static struct folder *folder_find(struct watch *w, const char *path)
{
	for (struct watch_item *item = w->items; item != NULL; item = item->next)
		if (item->happened == folder_changed &&
		    strcmp(((struct folder *)item)->path, path) == 0)
			return (struct folder *)item;
	return NULL;
}

/* Returns the directory of a path, which is watched if possible; NULL: no memory. */
static struct folder *folder_get(struct watch *w, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = slash == NULL ? strdup(".")
	                           : strndup(path, slash > path ? (size_t)(slash - path) : 1);
	struct folder *folder = name != NULL ? folder_find(w, name) : NULL;

	if (name == NULL || folder != NULL) {
		free(name);
		return folder;
	}
	folder = calloc(1, sizeof *folder);
	if (folder == NULL) {
		free(name);
		return NULL;
	}
	folder->item.happened = folder_changed;
	folder->item.close = folder_close;
	folder->path = name;
	folder->fd = watch_open(name, O_DIRECTORY);
	if (folder->fd >= 0 &&
	    watch_register(w, (uint64_t)folder->fd, XPOLL_FILT_VNODE, XPOLL_ADD,
	                   XPOLL_NOTE_WRITE | GONE, 0, &folder->item) != 0) {
		xpoll_close_fd(folder->fd);
		folder->fd = -1;
	}
	watch_link(w, &folder->item);
	return folder;
}

/*
 * Returns true for a file of /proc or /sys: the kernel makes its text when it is read, and reports
 * no change.
 */
static bool file_is_made_up(const struct file *it)
{
	static const char *const systems[] = {"/proc", "/sys"};
	struct stat top;
	struct stat root;

	/* If nothing is mounted there, as in a chroot, /proc belongs to the root file system. */
	for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
		if (stat(systems[i], &top) == 0 && top.st_dev == it->dev &&
		    stat("/", &root) == 0 && top.st_dev != root.st_dev)
			return true;
	return false;
}

int watch_add_file(struct watch *w, const struct tool_item *argument)
{
	struct folder *folder = folder_get(w, argument->text);
	struct file *it = calloc(1, sizeof *it);
	int error = it == NULL || folder == NULL ? ENOMEM : 0;

	if (error == 0) {
		it->item.happened = file_changed;
		it->item.close = file_close;
		it->path = argument->text;
		error = file_attach(w, it);
	}
	if (error != 0) {
		free(it);
		return watch_refuse(w, argument, error);
	}
	if (file_is_made_up(it))
		tool_warn(w->usage, "%s%s%s: the kernel may report no changes of this file; "
		          "try: xpoll watch --fd 0 <%s",
		          argument->option != NULL ? argument->option : "",
		          argument->option != NULL ? " " : "", argument->text, argument->text);
	it->folder = folder;
	it->sibling = folder->files;
	folder->files = it;
	watch_link(w, &it->item);
	w->sources++;
	return TOOL_GO_ON;
}

int watch_add_path(struct watch *w, const struct tool_item *argument)
{
	struct stat now;

	if (stat(argument->text, &now) < 0)
		return watch_refuse(w, argument, errno);
	return S_ISDIR(now.st_mode) ? watch_add_tree(w, argument)
	                            : watch_add_file(w, argument);
}
