/* The model's poll(2), and calls that return properties of a descriptor. */
#include "model.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	INIGNEOF = 0x2000,
	RDHUP = 0x2000,
	STANDARD = POLLIN | POLLOUT | POLLPRI | POLLERR | POLLHUP | POLLNVAL,
	LOOKS_FEW = 4096,
	FORGOTTEN_MOST = 64,
};

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                 const sigset_t *mask);
int __real_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                 const sigset_t *mask);
int __wrap_pselect(int count, fd_set *in, fd_set *out, fd_set *other,
                   const struct timespec *timeout, const sigset_t *mask);
int __real_pselect(int count, fd_set *in, fd_set *out, fd_set *other,
                   const struct timespec *timeout, const sigset_t *mask);
int __wrap_fstat(int fd, struct stat *status);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *size);

static bool refuses(const struct pollfd *look, short asked)
{
	struct stat status;

	return asked & ~STANDARD && model_kernel()->refuses_bits &&
		__real_fstat(look->fd, &status) == 0 && S_ISCHR(status.st_mode);
}

static bool ends_are_ignored(const struct pollfd *look)
{
	return look->events & INIGNEOF && model_kernel()->ignores_eof;
}

/* Returns the number of entries that the modelled kernel refuses at once (POLLNVAL). */
static int refuse_all(struct pollfd *fds, nfds_t count, const short *asked)
{
	int ready = 0;

	for (nfds_t i = 0; i < count; i++)
		ready += refuses(&fds[i], asked[i]);
	return ready;
}

/*
 * Convert the results of Linux to those of the modelled kernel.  Returns the number of ready
 * entries.
 */
static int answer_all(struct pollfd *fds, nfds_t count, const short *asked)
{
	int ready = 0;

	for (nfds_t i = 0; i < count; i++) {
		if (refuses(&fds[i], asked[i]))
			fds[i].revents = POLLNVAL;
		ready += fds[i].revents != 0;
	}
	return ready;
}

/*
 * Listeners that were shut down and whose error was read: the modelled kernel reports nothing more
 * of them.
 */
static _Atomic ino_t forgotten[FORGOTTEN_MOST];

static void forget(int fd)
{
	struct stat status;

	if (__real_fstat(fd, &status) < 0)
		return;
	for (int i = 0; i < FORGOTTEN_MOST; i++) {
		ino_t none = 0;

		if (atomic_compare_exchange_strong(&forgotten[i], &none, status.st_ino))
			return;
	}
	fprintf(stderr, "too many listeners for the model\n");
	exit(1);
}

bool model_is_forgotten(int fd)
{
	struct stat status;

	if (!forgotten[0] || __real_fstat(fd, &status) < 0 || !S_ISSOCK(status.st_mode))
		return false;
	for (int i = 0; i < FORGOTTEN_MOST && forgotten[i]; i++)
		if (forgotten[i] == status.st_ino)
			return true;
	return false;
}

/*
 * Convert the requested bits for Linux, and leave out entries whose end of file is to be ignored.
 */
static void ask_all(struct pollfd *fds, nfds_t count, short *asked)
{
	for (nfds_t i = 0; i < count; i++) {
		asked[i] = fds[i].events;
		if (!model_kernel()->knows_rdhup)
			fds[i].events &= ~RDHUP;
	}
}

/*
 * Returns true for a pipe at its end whose request ignores the end of file: it never becomes ready.
 */
static bool is_silent(const struct pollfd *look)
{
	return look->revents && (model_is_forgotten(look->fd) ||
	                         (ends_are_ignored(look) && look->revents & POLLHUP &&
	                          !(look->revents & POLLIN)));
}

static int silence_ends(struct pollfd *fds, nfds_t count)
{
	int silent = 0;

	for (nfds_t i = 0; i < count; i++)
		if (is_silent(&fds[i])) {
			fds[i].revents = 0;
			silent++;
		}
	return silent;
}

/*
 * Call poll(2) like the modelled kernel.  If only ignored conditions hold, that kernel would
 * continue to sleep; here the descriptors are polled again from time to time, so that a waiting
 * test can end.
 */
static int poll_as_kernel(struct pollfd *fds, nfds_t count,
                          const struct timespec *timeout, const sigset_t *mask,
                          short *asked)
{
	static const struct timespec zero, soon = {.tv_nsec = 10000000};
	bool looks = timeout && !timeout->tv_sec && !timeout->tv_nsec;
	int silent;
	int rc;

	ask_all(fds, count, asked);
	if (refuse_all(fds, count, asked) > 0)
		timeout = &zero;
	rc = __real_ppoll(fds, count, timeout, mask);
	rc = rc < 0 ? rc : answer_all(fds, count, asked);
	for (nfds_t i = 0; i < count; i++)
		fds[i].events = asked[i];
	if (rc < 0)
		return rc;
	silent = silence_ends(fds, count);
	if (rc == silent && silent > 0 && !looks)
		(void)__real_ppoll(NULL, 0, &soon, mask);
	return rc - silent;
}

/*
 * A poll with timeout 0 runs the handlers of pending signals and still returns its results, not
 * EINTR.  Returns the mask for the call.
 */
static const sigset_t *mask_of_look(const struct timespec *timeout, const sigset_t *mask)
{
	sigset_t before;

	if (!mask || !timeout || timeout->tv_sec || timeout->tv_nsec)
		return mask;
	(void)pthread_sigmask(SIG_SETMASK, mask, &before);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return NULL;
}

int __wrap_pselect(int count, fd_set *in, fd_set *out, fd_set *other,
                   const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec whole;

	if (timeout && model_kernel()->selects_in_us) {
		whole = *timeout;
		whole.tv_nsec -= whole.tv_nsec % 1000;
		timeout = &whole;
	}
	return __real_pselect(count, in, out, other, timeout,
	                      mask_of_look(timeout, mask));
}

int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                 const sigset_t *mask)
{
	short few[LOOKS_FEW];
	short *asked = few;
	int rc;

	mask = mask_of_look(timeout, mask);

	if (count > LOOKS_FEW)
		asked = malloc(count * sizeof *asked);
	if (!asked)
		return -1;
	rc = poll_as_kernel(fds, count, timeout, mask, asked);
	if (asked != few)
		free(asked);
	return rc;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct timespec timeout = {
		.tv_sec = timeout_ms / 1000,
		.tv_nsec = timeout_ms % 1000 * 1000000L,
	};

	return __wrap_ppoll(fds, count, timeout_ms < 0 ? NULL : &timeout, NULL);
}

/* fstat(2) of the modelled kernel: a socket has no inode, and a pipe has no link. */
int __wrap_fstat(int fd, struct stat *status)
{
	static dev_t pipes;
	int rc = __real_fstat(fd, status);
	struct stat one;
	int ends[2];

	if (rc == 0 && S_ISFIFO(status->st_mode) && !pipes && pipe(ends) == 0) {
		(void)__real_fstat(ends[0], &one);
		pipes = one.st_dev;
		close(ends[0]);
		close(ends[1]);
	}
	if (rc == 0 && S_ISFIFO(status->st_mode) && status->st_dev == pipes)
		status->st_nlink = 0;
	if (rc == 0 && (S_ISSOCK(status->st_mode) ||
	                (S_ISFIFO(status->st_mode) && model_kernel()->pipes_alike))) {
		status->st_dev = 0;
		status->st_ino = 0;
	}
	return rc;
}

/*
 * Returns true for a listener that was shut down.  Linux shows only for UNIX-domain sockets that
 * they were listeners.
 */
static bool is_ended_listener(int fd)
{
	struct pollfd look = {.fd = fd, .events = POLLIN};
	int listens = 0;
	socklen_t size = sizeof listens;

	return __real_getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
		listens && __real_poll(&look, 1, 0) > 0 && look.revents & POLLHUP;
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	if (level == SOL_SOCKET && name == SO_ACCEPTCONN &&
	    model_kernel()->no_acceptconn) {
		errno = ENOPROTOOPT;
		return -1;
	}
	if (level == SOL_SOCKET && name == SO_ERROR && model_kernel()->aborts &&
	    is_ended_listener(fd)) {
		*(int *)value = model_is_forgotten(fd) ? 0 : ECONNABORTED;
		forget(fd);
		return 0;
	}
	return __real_getsockopt(fd, level, name, value, size);
}
