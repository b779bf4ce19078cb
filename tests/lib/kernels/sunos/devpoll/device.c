/*
 * A model of /dev/poll as its manual page, poll(7D), describes it, and like the driver of illumos
 * where the page says "may".  A program has to handle the following:
 * - Events that are written for a descriptor in the set are ORed to those it has.  Events that it
 * has already do not make the device poll the file again, nor check whether the descriptor refers
 * to the same file.
 * - A closed descriptor stays in the set.  It reports POLLNVAL if the device has a reason to poll
 * it, and nothing otherwise; reused, it reports the state of the new file if there is a reason, and
 * nothing otherwise.  Reasons are: it was written, it was ready the last time, its old file has
 * reported something.
 * - A descriptor that is not open when it is written is not in the set and cannot be removed, but
 * the device keeps the events.
 * - DP_POLL begins where the last one stopped.  A descriptor that has to be polled stays so until a
 * poll finds nothing.
 * - More records than the limit of descriptors, or room for as many results, is EINVAL.
 * - A forked child must not use the device: EACCES.
 * - A write waits until no thread is asleep in DP_POLL, as in illumos until 2012.
 * - ioctl(2) is no cancellation point, and sleeps for whole milliseconds.
 *
 * Each device is an epoll set, whose edges show activity of files.  While a thread holds the lock,
 * it blocks all signals, because handlers may fork.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "model.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/devpoll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	DEVICES = 1 << 16, /* descriptors below this can be devices */
	ENTRIES = 1 << 20, /* descriptors below this can be in a set */
};

struct devpoll_calls dp_model_calls;

static struct device devices[DEVICES];
static int devices_end; /* one more than the highest descriptor that was a device */
static int latest = -1;
static int open_error;
static int deaf;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;

/* The C library's functions, which the model replaces. */
static int (*real_open)(const char *path, int flags, ...);
static int (*real_close)(int fd);
static ssize_t (*real_write)(int fd, const void *buffer, size_t size);

/* --- The lock ---------------------------------------------------------------- */

void dp_model_lock(void)
{
	pthread_mutex_lock(&lock);
}

void dp_model_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void dp_model_wait(void)
{
	pthread_cond_wait(&moved, &lock);
}

void dp_model_moved(void)
{
	pthread_cond_broadcast(&moved);
}

void dp_model_enter(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
	dp_model_lock();
}

void dp_model_leave(const sigset_t *before)
{
	int saved = errno;

	dp_model_unlock();
	pthread_sigmask(SIG_SETMASK, before, NULL);
	errno = saved;
}

static sigset_t fork_before; /* signal mask to restore after fork(2); guarded by the lock */

static void fork_prepare(void)
{
	sigset_t before;

	dp_model_enter(&before);
	fork_before = before;
}

static void fork_parent(void)
{
	sigset_t before = fork_before;

	dp_model_leave(&before);
}

/* In a forked child: reset the state of the parent's threads, which the child does not have. */
static void fork_child(void)
{
	pthread_cond_init(&moved, NULL);
	dp_model_calls.asleep = 0;
	for (int i = 0; i < devices_end; i++) {
		devices[i].readers = 0;
		devices[i].writers = 0;
	}
	fork_parent();
}

static void find(const char *name, void *function)
{
	void *found = dlsym(RTLD_NEXT, name);

	memcpy(function, &found, sizeof found);
}

__attribute__((constructor)) static void begin(void)
{
	find("open", &real_open);
	find("close", &real_close);
	find("write", &real_write);
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

/* --- Functions for tests ----------------------------------------------------- */

void devpoll_refuse(int error)
{
	open_error = error;
}

void devpoll_be_deaf(int now)
{
	deaf = now;
}

int devpoll_latest(void)
{
	return latest;
}

struct devpoll_calls devpoll_calls(void)
{
	struct devpoll_calls copy;
	sigset_t before;

	dp_model_enter(&before);
	copy = dp_model_calls;
	dp_model_leave(&before);
	return copy;
}

/* --- Devices ----------------------------------------------------------------- */

static bool is_device(int fd)
{
	return fd >= 0 && fd < DEVICES && devices[fd].open;
}

struct device *dp_model_device(int fd)
{
	struct device *device;

	if (!is_device(fd)) {
		errno = ENOTTY;
		return NULL;
	}
	device = &devices[fd];
	if (device->owner == 0)
		device->owner = getpid();
	if (device->owner == getpid())
		return device;
	errno = EACCES;
	return NULL;
}

bool dp_model_deaf(void)
{
	return deaf;
}

bool dp_model_too_many(size_t count)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) < 0 || count > limit.rlim_cur;
}

static int device_make(int flags)
{
	int fd = epoll_create1(flags & O_CLOEXEC ? EPOLL_CLOEXEC : 0);
	struct device *device;
	struct entry *entries;
	size_t size = ENTRIES * sizeof *entries;

	if (fd < 0)
		return -1;
	if (fd >= DEVICES) {
		real_close(fd);
		errno = ENXIO;
		return -1;
	}
	device = &devices[fd];
	entries = device->entries;
	if (entries) {
		memset(entries, 0, (size_t)device->end * sizeof *entries);
	} else {
		entries = mmap(NULL, size, PROT_READ | PROT_WRITE,
		               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (entries == MAP_FAILED) {
			real_close(fd);
			return -1;
		}
	}
	*device = (struct device){.open = true, .entries = entries};
	if (fd >= devices_end)
		devices_end = fd + 1;
	latest = fd;
	return fd;
}

int open(const char *path, int flags, ...)
{
	sigset_t before;
	va_list args;
	mode_t mode;
	int fd = -1;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (strcmp(path, "/dev/poll") != 0)
		return real_open(path, flags, mode);
	dp_model_enter(&before);
	if (open_error)
		errno = open_error;
	else
		fd = device_make(flags);
	dp_model_leave(&before);
	return fd;
}

int close(int fd)
{
	if (is_device(fd))
		devices[fd].open = false;
	return real_close(fd);
}

bool dp_model_heed(int device_fd, int fd, short events)
{
	struct epoll_event heed = {
		.events = (uint32_t)(unsigned short)events | EPOLLET,
		.data.fd = fd,
	};

	return epoll_ctl(device_fd, EPOLL_CTL_MOD, fd, &heed) == 0 ||
		epoll_ctl(device_fd, EPOLL_CTL_ADD, fd, &heed) == 0;
}

static void device_record(struct device *device, int device_fd,
                          const struct pollfd *record)
{
	struct entry *entry;

	if (record->fd < 0 || record->fd >= ENTRIES)
		return;
	entry = &device->entries[record->fd];
	if (record->fd >= device->end)
		device->end = record->fd + 1;
	if (record->events == POLLREMOVE) {
		if (entry->there) {
			(void)epoll_ctl(device_fd, EPOLL_CTL_DEL, record->fd, NULL);
			*entry = (struct entry){0};
		}
		return;
	}
	if (entry->there && entry->events == record->events)
		return;
	entry->look = true;
	entry->events |= record->events;
	if (fcntl(record->fd, F_GETFD) < 0)
		return;
	entry->there = true;
	(void)dp_model_heed(device_fd, record->fd, entry->events);
}

ssize_t write(int fd, const void *buffer, size_t size)
{
	const struct pollfd *records = buffer;
	size_t count = size / sizeof *records;
	struct device *device;
	ssize_t rc = -1;
	sigset_t before;

	if (!is_device(fd))
		return real_write(fd, buffer, size);
	dp_model_enter(&before);
	device = dp_model_device(fd);
	if (device && dp_model_too_many(count)) {
		dp_model_calls.refused++;
		errno = EINVAL;
	} else if (device) {
		device->writers++;
		while (device->readers > 0)
			dp_model_wait();
		device->writers--;
		for (size_t i = 0; i < count; i++)
			device_record(device, fd, &records[i]);
		dp_model_calls.writes++;
		dp_model_calls.records += (unsigned)count;
		dp_model_moved();
		rc = (ssize_t)size;
	}
	dp_model_leave(&before);
	return rc;
}
