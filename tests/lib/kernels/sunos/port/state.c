/*
 * A model of event ports: the ports of the process, their queues, and replacements of the C
 * library's calls that close descriptors.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "model.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHUNK = 64, SLAB = 1024 };

#define LAMP UINT64_MAX

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct port *ports[PORT_FDS]; /* the ports of this process, indexed by descriptor */
static int ports_most;               /* the highest descriptor in `ports` */
static int lamp = -1;                /* a descriptor that is always readable */
static struct queued *spare;
static dev_t pipe_device; /* st_dev of pipes */

static int (*real_close)(int fd);

static void port_end(int fd)
{
	struct port *port = ports[fd];

	ports[fd] = NULL;
	while (port->first) {
		struct queued *queued = port->first;

		port->first = queued->next;
		model_free(queued);
	}
	model_files_end(port);
	free(port->objects);
	free(port);
}

/* In a forked child: forget the ports, because the epoll sets belong to the parent. */
static void forked(void)
{
	pthread_mutex_init(&lock, NULL);
	for (int i = 0; i <= ports_most; i++)
		if (ports[i])
			port_end(i);
}

__attribute__((constructor)) static void begin(void)
{
	union {
		void *pointer;
		int (*function)(int fd);
	} found;

	int pipe_ends[2];
	struct stat status;

	lamp = eventfd(1, EFD_CLOEXEC);
	if (pipe(pipe_ends) == 0) {
		(void)fstatat(pipe_ends[0], "", &status, AT_EMPTY_PATH);
		pipe_device = status.st_dev;
		(void)syscall(SYS_close, pipe_ends[0]);
		(void)syscall(SYS_close, pipe_ends[1]);
	}
	found.pointer = dlsym(RTLD_NEXT, "close");
	real_close = found.function;
	pthread_atfork(NULL, NULL, forked);
}

void model_lock(struct held *before)
{
	sigset_t all;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancel);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before->signals);
	pthread_mutex_lock(&lock);
}

void model_unlock(const struct held *before)
{
	pthread_mutex_unlock(&lock);
	pthread_sigmask(SIG_SETMASK, &before->signals, NULL);
	pthread_setcancelstate(before->cancel, NULL);
}

struct port *model_port(int fd)
{
	if (fd >= 0 && fd <= ports_most && ports[fd])
		return ports[fd];
	errno = fcntl(fd, F_GETFD) < 0 ? EBADF : EBADFD;
	return NULL;
}

int port_create(void)
{
	struct port *port = calloc(1, sizeof *port);
	int fd = port ? epoll_create1(0) : -1;
	struct held before;

	if (fd < 0 || fd >= PORT_FDS) {
		int error = fd < 0 ? errno : EAGAIN;

		free(port);
		if (fd >= 0)
			real_close(fd);
		errno = error;
		return -1;
	}
	port->fd = fd;
	port->files_fd = -1;
	port->last = &port->first;
	model_lock(&before);
	ports[fd] = port;
	if (ports_most < fd)
		ports_most = fd;
	model_unlock(&before);
	return fd;
}

/* Allocate an event, but not by malloc, because a kernel does not use the program's heap. */
static struct queued *queued_new(void)
{
	struct queued *queued = spare;

	if (!queued) {
		queued = mmap(NULL, SLAB * sizeof *queued, PROT_READ | PROT_WRITE,
		              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (queued == MAP_FAILED)
			return NULL;
		for (int i = 0; i + 1 < SLAB; i++)
			queued[i].next = &queued[i + 1];
	}
	spare = queued->next;
	memset(queued, 0, sizeof *queued);
	return queued;
}

void model_free(struct queued *queued)
{
	queued->next = spare;
	spare = queued;
}

int model_post(struct port *port, const port_event_t *event, uint32_t serial)
{
	struct queued *queued = queued_new();

	if (!queued)
		return ENOMEM;
	queued->event = *event;
	queued->serial = serial;
	*port->last = queued;
	port->last = &queued->next;
	port->len++;
	return 0;
}

bool model_take_back(struct port *port, int source, uint32_t serial, bool *posted)
{
	bool was_posted = *posted;

	for (struct queued **at = &port->first; *at; at = &(*at)->next) {
		struct queued *queued = *at;

		if (queued->event.portev_source != source ||
		    queued->serial != serial)
			continue;
		*at = queued->next;
		if (!*at)
			port->last = at;
		port->len--;
		model_free(queued);
		break;
	}
	*posted = false;
	return was_posted;
}

static void report(struct port *port, const struct epoll_event *told)
{
	int fd = (int)(uint32_t)told->data.u64;
	struct association *object = &port->objects[fd];
	port_event_t event = {
		.portev_source = PORT_SOURCE_FD,
		.portev_object = (uintptr_t)fd,
		.portev_events = (int)told->events,
		.portev_user = object->user,
	};

	if (!object->active || object->serial != told->data.u64 >> 32)
		return;
	if (model_post(port, &event, object->serial) != 0)
		return;
	object->active = false;
	object->posted = true;
}

void model_harvest(struct port *port)
{
	struct epoll_event told[CHUNK];
	int count;

	do {
		count = epoll_wait(port->fd, told, CHUNK, 0);
		for (int i = 0; i < count; i++)
			if (told[i].data.u64 == MODEL_FILES)
				model_files_harvest(port);
			else if (told[i].data.u64 != LAMP)
				report(port, &told[i]);
	} while (count == CHUNK);
}

uint_t model_take(struct port *port, port_event_t *list, uint_t max)
{
	uint_t count = 0;

	for (; count < max && port->first; count++) {
		struct queued *queued = port->first;
		int fd = (int)queued->event.portev_object;

		port->first = queued->next;
		if (!port->first)
			port->last = &port->first;
		port->len--;
		list[count] = queued->event;
		if (queued->event.portev_source == PORT_SOURCE_FILE && queued->serial)
			model_file_taken(port, queued->serial);
		else if (queued->event.portev_source != PORT_SOURCE_FD)
			port->allocated--;
		else if (port->objects[fd].serial == queued->serial)
			port->objects[fd].posted = false;
		model_free(queued);
	}
	return count;
}

void model_light(struct port *port)
{
	struct epoll_event entry = {.events = EPOLLIN, .data.u64 = LAMP};
	bool lit = port->len > 0 || port->alert;

	if (lit == port->lit)
		return;
	port->lit = lit;
	(void)epoll_ctl(port->fd, lit ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, lamp,
	                &entry);
}

/* --- Closing ------------------------------------------------------------------ */

static void closing(int fd)
{
	struct held before;

	if (fd < 0)
		return;
	model_lock(&before);
	for (int i = 0; i <= ports_most; i++)
		if (ports[i])
			model_dissociate(ports[i], fd);
	if (fd <= ports_most && ports[fd])
		port_end(fd);
	model_unlock(&before);
}

int close(int fd)
{
	int saved = errno;

	closing(fd);
	errno = saved;
	return real_close(fd);
}

int dup2(int fd, int number)
{
	if (fd == number)
		return fcntl(fd, F_GETFD) < 0 ? -1 : fd;
	if (fcntl(fd, F_GETFD) >= 0)
		closing(number);
	return (int)syscall(SYS_dup3, fd, number, 0);
}

int dup3(int fd, int number, int flags)
{
	if (fd != number && fcntl(fd, F_GETFD) >= 0)
		closing(number);
	return (int)syscall(SYS_dup3, fd, number, flags);
}

/*
 * fstat(2) like on illumos: a pipe has no links, the inode number of a socket is a part of its
 * address, and times have whole seconds.
 */
int fstat(int fd, struct stat *status)
{
	int rc = fstatat(fd, "", status, AT_EMPTY_PATH);

	if (rc == 0 && S_ISFIFO(status->st_mode) &&
	    status->st_dev == pipe_device)
		status->st_nlink = 0;
	if (rc == 0 && S_ISSOCK(status->st_mode)) {
		status->st_ino &= 0xffff;
		status->st_ctim.tv_nsec = 0;
	}
	return rc;
}
