/*
 * A model of event ports: files (PORT_SOURCE_FILE), after port_associate(3C) and the sources of
 * illumos.  A program has to handle the following:
 * - A watch is for a name.  It reports once; changes before it is associated again are reported
 * only if the times passed then differ from the file's.
 * - The loss of the name ends the watch, and is reported without a request: in place of an event
 * that was not retrieved yet, and not at all if the event was retrieved and the name was not
 * associated again.  If another link of the file loses its name, that is FILE_ATTRIB.
 * - port_dissociate takes an event back, but not one of a lost name.
 * - A write is FILE_ATTRIB, too.  Setting the times is FILE_MODIFIED, too.
 * - ftruncate(2) to 0 is only FILE_TRUNC; to another size it is not reported.
 * - A close is not reported.
 *
 * The model uses an inotify instance, which watches the file, and its directory for the name.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "model.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	SLAB = 64,
	ASKED = FILE_ACCESS | FILE_MODIFIED | FILE_ATTRIB | FILE_TRUNC,
};

#define ENTRIES (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
#define ALL     (ENTRIES | IN_MODIFY | IN_ATTRIB | IN_ACCESS)

struct file {
	struct file *next;
	uintptr_t object;
	int events;
	void *user;
	uint32_t serial; /* number of the association */
	bool active;     /* an event may be sent */
	bool posted;     /* an event of the association is in the queue */
	int self;        /* watch descriptor of the file */
	int above;       /* watch descriptor of the file's directory */
	struct stat last;
	char *name;      /* points into `path`: the last component */
	char path[PATH_MAX];
};

static struct file *spare;

/* Allocate a file, but not by malloc, because a kernel does not use the program's heap. */
static struct file *file_new(void)
{
	struct file *file = spare;

	if (!file) {
		file = mmap(NULL, SLAB * sizeof *file, PROT_READ | PROT_WRITE,
		            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (file == MAP_FAILED)
			return NULL;
		for (int i = 0; i + 1 < SLAB; i++)
			file[i].next = &file[i + 1];
	}
	spare = file->next;
	memset(file, 0, offsetof(struct file, path));
	return file;
}

static void file_free(struct file *file)
{
	file->next = spare;
	spare = file;
}

static struct file *file_find(const struct port *port, uintptr_t object)
{
	struct file *file = port->files;

	while (file && file->object != object)
		file = file->next;
	return file;
}

/* End inotify's watch with this number, unless another file of the port needs it. */
static void number_release(const struct port *port, int number)
{
	for (const struct file *file = port->files; file; file = file->next)
		if (file->self == number || file->above == number)
			return;
	if (number >= 0)
		(void)inotify_rm_watch(port->files_fd, number);
}

static void file_remove(struct port *port, struct file *file)
{
	struct file **at = &port->files;
	int self = file->self;
	int above = file->above;

	(void)model_take_back(port, PORT_SOURCE_FILE, file->serial, &file->posted);
	while (*at != file)
		at = &(*at)->next;
	*at = file->next;
	file_free(file);
	port->allocated--;
	number_release(port, self);
	number_release(port, above);
}

/* --- Reports of inotify ------------------------------------------------------- */

static int post(struct port *port, const struct file *file, int events,
                uint32_t serial)
{
	port_event_t event = {
		.portev_events = events,
		.portev_source = PORT_SOURCE_FILE,
		.portev_object = file->object,
		.portev_user = file->user,
	};

	return model_post(port, &event, serial);
}

static void file_tell(struct port *port, struct file *file, int events)
{
	events &= file->events & ASKED;
	if (!file->active || !events)
		return;
	file->active = false;
	file->posted = post(port, file, events, file->serial) == 0;
}

/* The name was removed, or belongs to another file now: report `event`, and end the association. */
static void file_lost(struct port *port, struct file *file, int event)
{
	if (model_take_back(port, PORT_SOURCE_FILE, file->serial, &file->posted) || file->active) {
		port->allocated++;
		(void)post(port, file, event, 0);
	}
	file_remove(port, file);
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static void file_changed(struct port *port, struct file *file, uint32_t mask)
{
	struct stat before = file->last;
	struct stat now;
	bool known = lstat(file->path, &now) == 0 &&
		now.st_ino == before.st_ino && now.st_dev == before.st_dev;

	if (!known)
		now = before;
	file->last = now;
	if (mask & IN_ACCESS)
		file_tell(port, file, FILE_ACCESS);
	else if (mask & IN_ATTRIB)
		file_tell(port, file, same_time(&before.st_mtim, &now.st_mtim)
		          ? FILE_ATTRIB : FILE_ATTRIB | FILE_MODIFIED);
	else if (mask & IN_MODIFY && now.st_size >= before.st_size)
		file_tell(port, file, FILE_MODIFIED | FILE_ATTRIB);
	else if (mask & IN_MODIFY && now.st_size == 0)
		file_tell(port, file, FILE_TRUNC);
}

static void file_hear(struct port *port, struct file *file,
                      const struct inotify_event *event)
{
	bool named = event->len > 0 && file->above == event->wd &&
		strcmp(event->name, file->name) == 0;

	if (named && event->mask & IN_DELETE)
		file_lost(port, file, FILE_DELETE);
	else if (named && event->mask & IN_MOVED_FROM)
		file_lost(port, file, FILE_RENAME_FROM);
	else if (named && event->mask & IN_MOVED_TO)
		file_lost(port, file, FILE_RENAME_TO);
	else if (file->self == event->wd && event->mask & IN_UNMOUNT)
		file_lost(port, file, UNMOUNTED);
	else if (file->self == event->wd && event->len == 0)
		file_changed(port, file, event->mask);
	else if (file->self == event->wd && event->mask & ENTRIES)
		file_tell(port, file, FILE_MODIFIED | FILE_ATTRIB);
}

void model_files_harvest(struct port *port)
{
	_Alignas(struct inotify_event) char bytes[8192];
	ssize_t len;

	while ((len = read(port->files_fd, bytes, sizeof bytes)) > 0)
		for (ssize_t at = 0; at < len;) {
			const struct inotify_event *event =
				(const void *)(bytes + at);
			struct file *next;

			at += (ssize_t)(sizeof *event + event->len);
			for (struct file *file = port->files; file; file = next) {
				next = file->next;
				file_hear(port, file, event);
			}
		}
}

void model_file_taken(struct port *port, uint32_t serial)
{
	for (struct file *file = port->files; file; file = file->next)
		if (file->serial == serial)
			file->posted = false;
}

/* --- Associations ------------------------------------------------------------ */

static int files_open(struct port *port)
{
	struct epoll_event entry = {.events = EPOLLIN, .data.u64 = MODEL_FILES};

	if (port->files_fd >= 0)
		return 0;
	port->files_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (port->files_fd < 0)
		return errno == EMFILE ? EAGAIN : errno;
	return epoll_ctl(port->fd, EPOLL_CTL_ADD, port->files_fd, &entry) < 0
		? errno : 0;
}

void model_files_end(struct port *port)
{
	while (port->files) {
		struct file *file = port->files;

		port->files = file->next;
		file_free(file);
	}
	if (port->files_fd >= 0)
		(void)syscall(SYS_close, port->files_fd);
	port->files_fd = -1;
}

/* Store the file that a path leads to, and watch it by inotify.  Returns 0 or an errno value. */
static int file_look(const struct port *port, const char *path, int events,
                     struct file *found)
{
	bool follow = !(events & FILE_NOFOLLOW);
	char above[PATH_MAX];
	char *name;

	if ((follow ? stat : lstat)(path, &found->last) < 0)
		return errno;
	if (!(follow ? realpath(path, found->path)
	      : strncpy(found->path, path, PATH_MAX - 1)))
		return errno;
	found->path[PATH_MAX - 1] = '\0';
	memcpy(above, found->path, sizeof above);
	name = strrchr(above, '/');
	if (!name)
		return ENOENT;
	found->name = found->path + (name + 1 - above);
	*(name == above ? name + 1 : name) = '\0';
	found->self = inotify_add_watch(port->files_fd, found->path,
	                                ALL | IN_DONT_FOLLOW);
	if (found->self < 0)
		return errno;
	found->above = inotify_add_watch(port->files_fd, above, ALL);
	return found->above < 0 ? errno : 0;
}

/* "the time stamps passed in are compared with the file's current time stamps" */
static void file_compare(struct port *port, struct file *file,
                         const struct file_obj *object)
{
	const struct {
		int event;
		struct timespec given;
		struct timespec now;
	} times[] = {
		{FILE_ACCESS, object->fo_atime, file->last.st_atim},
		{FILE_MODIFIED, object->fo_mtime, file->last.st_mtim},
		{FILE_ATTRIB, object->fo_ctime, file->last.st_ctim},
	};
	int events = 0;

	for (int i = 0; i < 3; i++)
		if ((times[i].given.tv_sec || times[i].given.tv_nsec) &&
		    !same_time(&times[i].given, &times[i].now))
			events |= times[i].event;
	if (!S_ISFIFO(file->last.st_mode))
		file_tell(port, file, events);
}

static bool same_name(const struct file *a, const struct file *b)
{
	return a->self == b->self && a->above == b->above &&
		strcmp(a->name, b->name) == 0;
}

/*
 * Returns the file with the address of this object: the one in the list, or the new one, which is
 * added.
 */
static struct file *file_enter(struct port *port, struct file *made)
{
	struct file *old = file_find(port, made->object);

	if (old && same_name(old, made)) {
		(void)model_take_back(port, PORT_SOURCE_FILE, old->serial, &old->posted);
		old->last = made->last;
		file_free(made);
		return old;
	}
	made->next = port->files;
	port->files = made;
	port->allocated++;
	if (old)
		file_remove(port, old);
	return made;
}

int model_file_associate(struct port *port, const struct file_obj *object,
                         int events, void *user)
{
	struct file *file;
	int rc = events & ~(ASKED | FILE_NOFOLLOW) ? EINVAL : files_open(port);

	if (rc != 0)
		return rc;
	/* Handle earlier reports first, because they do not belong to the new association. */
	model_files_harvest(port);
	file = file_new();
	if (!file)
		return ENOMEM;
	file->object = (uintptr_t)object;
	file->self = file->above = -1;
	rc = file_look(port, object->fo_name, events, file);
	if (rc != 0) {
		number_release(port, file->self);
		number_release(port, file->above);
		file_free(file);
		return rc == ENOSPC ? EAGAIN : rc;
	}
	file = file_enter(port, file);
	if (port->allocated > model_most_events()) {
		file_remove(port, file);
		return EAGAIN;
	}
	file->events = events;
	file->user = user;
	file->serial = ++port->serials;
	file->active = true;
	file_compare(port, file, object);
	model_light(port);
	return 0;
}

int model_file_dissociate(struct port *port, uintptr_t object)
{
	struct file *file;
	bool active = false;

	if (port->files_fd < 0)
		return EINVAL;
	model_files_harvest(port);
	file = file_find(port, object);
	if (file) {
		active = file->active || file->posted;
		file_remove(port, file);
	}
	model_light(port);
	return active ? 0 : ENOENT;
}

/* /proc/self/path/NUMBER leads to the file by its name, if it has one. */
ssize_t readlink(const char *path, char *buffer, size_t size)
{
	static const char folder[] = "/proc/self/path/";
	static const char gone[] = " (deleted)";
	char real[64], name[PATH_MAX];
	ssize_t len;

	if (strncmp(path, folder, sizeof folder - 1) != 0)
		return readlinkat(AT_FDCWD, path, buffer, size);
	snprintf(real, sizeof real, "/proc/self/fd/%.20s",
	         path + sizeof folder - 1);
	len = readlinkat(AT_FDCWD, real, name, sizeof name);
	if (len < 0)
		return -1;
	if (name[0] != '/' ||
	    (len >= (ssize_t)sizeof gone &&
	     memcmp(name + len - (sizeof gone - 1), gone, sizeof gone - 1) == 0)) {
		errno = ENOENT;
		return -1;
	}
	len = (size_t)len < size ? len : (ssize_t)size;
	memcpy(buffer, name, (size_t)len);
	return len;
}
