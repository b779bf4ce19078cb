/* Selects the modelled kernel, and records the state of its knotes (registered filters). */
#include "model.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct model_kernel kernels[] = {
	{
		.name = "freebsd12", .ignores_eof = true, .refuses_bits = true,
		.late_trigger = true, .refuses_hung = true, .aborts = true,
		.selects_in_us = true, .device_error = ENODEV,
	}, {
		.name = "freebsd14", .knows_rdhup = true, .refuses_bits = true,
		.late_trigger = true, .refuses_hung = true, .aborts = true,
		.selects_in_us = true, .device_error = ENODEV,
	}, {
		.name = "openbsd7", .no_user = true, .enables_once = true,
		.eof_twice = true, .no_acceptconn = true, .pipes_alike = true,
		.uncancelled = true, .device_error = EINVAL, .pipes_lack_except = true,
		.fifos_one_way = true,
	}, {
		.name = "netbsd9", .no_user = true, .pipes_alike = true,
		.pipe_ebadf = true, .device_error = EINVAL,
	}, {
		.name = "macos", .error_and_flags = true, .no_acceptconn = true,
		.uncancelled = true, .selects_in_us = true, .pipes_lack_except = true,
	},
};

enum {
	KERNELS = sizeof kernels / sizeof *kernels,
	NOTES = 1 << 17,
	DUPLICATES_END = 256, /* no test has a kqueue with a higher descriptor */
};

/* A knote in a hash table.  The inode shows whether the descriptor was closed and reused. */
struct note {
	int queue; /* descriptor of the queue plus 1; 0: free */
	int fd;
	short filter;
	bool enabled;
	dev_t device;
	ino_t inode;
};

static struct note notes[NOTES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const struct model_kernel *model_kernel(void)
{
	const char *name = getenv("MODEL_KERNEL");

	for (int i = 0; name && i < KERNELS; i++)
		if (strcmp(name, kernels[i].name) == 0)
			return &kernels[i];
	fprintf(stderr, "MODEL_KERNEL names no kernel\n");
	exit(1);
}

static struct note *note_of(int queue, const struct kevent *change)
{
	unsigned place = ((unsigned)queue * 31 + (unsigned)change->ident * 17 +
	                  (unsigned)-change->filter) * 0x9e3779b1u >> 15;

	for (int i = 0; i < NOTES; i++) {
		struct note *note = &notes[(place + (unsigned)i) % NOTES];

		if (!note->queue || (note->queue == queue + 1 &&
		                     note->fd == (int)change->ident &&
		                     note->filter == change->filter))
			return note;
	}
	fprintf(stderr, "too many knotes for the model\n");
	exit(1);
}

void model_note(int queue, const struct kevent *change)
{
	struct stat status = {0};

	if (!(change->flags & (EV_ADD | EV_ENABLE | EV_DISABLE)))
		return;
	(void)__real_fstat((int)change->ident, &status);
	pthread_mutex_lock(&lock);
	struct note *note = note_of(queue, change);
	bool known = note->queue && note->inode == status.st_ino &&
		note->device == status.st_dev;

	*note = (struct note){
		.queue = queue + 1, .fd = (int)change->ident,
		.filter = change->filter,
		.device = status.st_dev, .inode = status.st_ino,
		.enabled = change->flags & EV_DISABLE ? false
			: change->flags & EV_ENABLE ? true
			: known ? note->enabled : true,
	};
	pthread_mutex_unlock(&lock);
}

bool model_is_enabled(int queue, const struct kevent *change)
{
	struct stat status;
	bool enabled = false;

	/* Only files with a type have an inode of their own: all eventfds of Linux share one. */
	if (__real_fstat((int)change->ident, &status) < 0 || !(status.st_mode & S_IFMT))
		return false;
	pthread_mutex_lock(&lock);
	const struct note *note = note_of(queue, change);
	if (note->queue && note->inode == status.st_ino &&
	    note->device == status.st_dev)
		enabled = note->enabled;
	pthread_mutex_unlock(&lock);
	return enabled;
}

/*
 * In a forked child: close duplicates of kqueues, because a child does not inherit them.  The
 * drop-in's kqueues are epoll sets, and the drop-in closes only the descriptors that it knows.
 */
static void close_duplicates(void)
{
	static const char of_epoll[] = "anon_inode:[eventpoll]";

	for (int fd = 0; fd < DUPLICATES_END; fd++) {
		char path[32], target[sizeof of_epoll];

		(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		if (readlink(path, target, sizeof target) == sizeof of_epoll - 1 &&
		    memcmp(target, of_epoll, sizeof of_epoll - 1) == 0)
			(void)syscall(SYS_close, fd);
	}
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, close_duplicates);
}
