/*
 * xpoll info: which kernel objects each event source uses here.
 *
 * Makes a registration, and compares the descriptors and threads of the process before and after,
 * as /proc shows them.  Without /proc it prints only whether the source works.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <xpoll.h>

#include "info.h"

#define OBJECTS_MAX 256
#define NAME_SIZE   24

struct objects {
	char names[OBJECTS_MAX][NAME_SIZE];
	int len;
};

/* Store a name for a link of /proc/self/fd: "eventfd" for "anon_inode:[eventfd]", "pipe" ... */
static void name_object(const char *link, char name[NAME_SIZE])
{
	const char *colon = strchr(link, ':');
	size_t len;

	if (link[0] == '/' || colon == NULL) {
		snprintf(name, NAME_SIZE, "file");
		return;
	}
	if (strncmp(link, "anon_inode:", 11) == 0)
		link = colon + (colon[1] == '[' ? 2 : 1);
	len = strcspn(link, ":]");
	snprintf(name, NAME_SIZE, "%.*s", (int)len, link);
}

static void objects_add(struct objects *objects, const char *link, int fd)
{
	int family = 0;
	socklen_t size = sizeof family;

	if (objects->len == OBJECTS_MAX)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 &&
	    family == AF_NETLINK)
		link = "netlink:";
	name_object(link, objects->names[objects->len++]);
}

/* Returns true for a thread that the kernel runs for an io_uring. */
static int is_kernel_thread(int folder, const char *thread)
{
	char path[64];
	char name[8] = "";
	int fd;

	snprintf(path, sizeof path, "%.16s/comm", thread);
	fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (read(fd, name, sizeof name - 1) < 0)
		name[0] = '\0';
	close(fd);
	return strncmp(name, "iou-", 4) == 0;
}

/* List all threads except the first, and all descriptors except that of the listing. */
static void objects_list(struct objects *objects)
{
	const struct dirent *entry;
	DIR *folder = opendir("/proc/self/task");

	objects->len = 0;
	while (folder != NULL && (entry = readdir(folder)) != NULL)
		if (entry->d_name[0] != '.' &&
		    atoi(entry->d_name) != getpid() &&
		    !is_kernel_thread(dirfd(folder), entry->d_name))
			objects_add(objects, "thread:", -1);
	if (folder != NULL)
		closedir(folder);
	folder = opendir("/proc/self/fd");
	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		char link[128];
		ssize_t len = readlinkat(dirfd(folder), entry->d_name, link,
		                         sizeof link - 1);

		if (len <= 0 || atoi(entry->d_name) == dirfd(folder))
			continue;
		link[len] = '\0';
		objects_add(objects, link, atoi(entry->d_name));
	}
	if (folder != NULL)
		closedir(folder);
}

/* Remove each element of `few` from `many`, so that the objects made in between remain. */
static void objects_subtract(struct objects *many, const struct objects *few)
{
	for (int i = 0; i < few->len; i++) {
		int k = 0;

		while (k < many->len && strcmp(many->names[k], few->names[i]) != 0)
			k++;
		if (k < many->len)
			memmove(many->names[k], many->names[--many->len], NAME_SIZE);
	}
}

/* Store the objects as text, equal ones as "eventfd x 2". */
static void objects_say(const struct objects *objects, struct info_text *to)
{
	const char *comma = "";

	for (int i = 0; i < objects->len; i++) {
		int same = 0;

		for (int k = 0; k < i; k++)
			same -= strcmp(objects->names[k], objects->names[i]) == 0;
		if (same < 0) /* printed before */
			continue;
		for (int k = i; k < objects->len; k++)
			same += strcmp(objects->names[k], objects->names[i]) == 0;
		info_say(to, "%s%s", comma, objects->names[i]);
		if (same > 1)
			info_say(to, " x %d", same);
		comma = ", ";
	}
	info_say(to, "%s", objects->len == 0 ? "none" : "");
}

/* Returns why asynchronous I/O does not use an io_uring; NULL: the reason is unknown. */
static const char *ring_refused(void)
{
	char params[256] = {0};
	long fd;

	if (getenv("XPOLL_AIO") != NULL)
		return "set by XPOLL_AIO";
	fd = syscall(SYS_io_uring_setup, 1, params);
	if (fd >= 0)
		close((int)fd);
	else if (errno == ENOSYS)
		return "this kernel has no io_uring";
	else if (errno == EPERM || errno == EACCES)
		return "io_uring is not permitted";
	return NULL;
}

/* Store whether asynchronous I/O used an io_uring or threads. */
static void say_aio(const struct objects *objects, struct info_text *to)
{
	const char *reason = ring_refused();
	int i = 0;

	while (i < objects->len && strcmp(objects->names[i], "io_uring") != 0)
		i++;
	if (i < objects->len)
		info_say(to, "by io_uring: ");
	else if (objects->len > 0)
		info_say(to, "by threads%s%s: ", reason != NULL ? ", " : "",
		         reason != NULL ? reason : "");
}

/*
 * Start an operation that the page cache cannot satisfy, wait for its event, and list the objects
 * of the process in `after`: those that did the operation stay for a second.  Returns 0 or an errno
 * value.
 */
static int try_aio(struct xpoll *queue, int fd, struct objects *after)
{
	struct xpoll_aio aio = {
		.size = sizeof aio,
		.op = XPOLL_AIO_FDATASYNC,
		.fd = fd,
	};
	struct xpoll_event event;

	if (xpoll_aio_submit(queue, &aio) < 0)
		return errno;
	/* Wait again after EINTR: the queue may use `aio` until its event was returned. */
	while (xpoll_event(queue, NULL, 0, &event, 1, -1) < 1)
		if (errno != EINTR)
			return errno;
	objects_list(after);
	return event.data < 0 ? (int)-event.data : 0;
}

int info_try(int filter, uint32_t fflags, struct info_text *to)
{
	struct xpoll *queue = xpoll_open(NULL);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct objects before = {0}, after = {0};
	struct xpoll_event change;
	uint64_t ident = 1;
	int error = queue == NULL || fd < 0 ? errno : 0;

	if (filter == XPOLL_FILT_SIGNAL)
		ident = SIGWINCH;
	else if (filter == XPOLL_FILT_PROC)
		ident = (uint64_t)getpid();
	else if (filter == XPOLL_FILT_VNODE)
		ident = (uint64_t)fd;
	objects_list(&before);
	xpoll_set(&change, ident, filter, XPOLL_ADD, fflags, 1000, NULL);
	if (error == 0 && filter == XPOLL_FILT_AIO) {
		error = try_aio(queue, fd, &after);
	} else if (error == 0) {
		error = xpoll_event(queue, &change, 1, NULL, 0, 0) < 0 ? errno : 0;
		objects_list(&after);
	}
	if (error == 0) {
		objects_subtract(&after, &before);
		if (filter == XPOLL_FILT_AIO)
			say_aio(&after, to);
		objects_say(&after, to);
	}
	xpoll_destroy(queue);
	if (fd >= 0)
		close(fd);
	return error;
}
