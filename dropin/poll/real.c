/*
 * Looking up the real functions: the next definition behind ours.
 */
#include "real.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KERNEL_SIGSET_SIZE 8

static int bare_ppoll(struct pollfd *fds, nfds_t count,
                      const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec left;

	if (timeout) /* The kernel writes the time that is left into it. */
		left = *timeout;
	return (int)syscall(SYS_ppoll, fds, count, timeout ? &left : NULL, mask,
	                    KERNEL_SIGSET_SIZE);
}

static int bare_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct timespec timeout = {
		.tv_sec = timeout_ms / 1000,
		.tv_nsec = timeout_ms % 1000 * 1000000L,
	};

	return bare_ppoll(fds, count, timeout_ms < 0 ? NULL : &timeout, NULL);
}

static int bare_pselect(int count, fd_set *in, fd_set *out, fd_set *except,
                        const struct timespec *timeout, const sigset_t *mask)
{
	struct {
		const sigset_t *mask;
		size_t size;
	} packed = {mask, KERNEL_SIGSET_SIZE};
	struct timespec left;

	if (timeout)
		left = *timeout;
	return (int)syscall(SYS_pselect6, count, in, out, except,
	                    timeout ? &left : NULL, &packed);
}

static int bare_select(int count, fd_set *in, fd_set *out, fd_set *except,
                       struct timeval *timeout)
{
	struct timespec copy = {0};

	if (timeout) {
		copy.tv_sec = timeout->tv_sec;
		copy.tv_nsec = timeout->tv_usec * 1000L;
	}
	return bare_pselect(count, in, out, except, timeout ? &copy : NULL, NULL);
}

static int bare_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static int bare_dup3(int fd, int number, int flags)
{
	return (int)syscall(SYS_dup3, fd, number, flags);
}

static int bare_dup2(int fd, int number)
{
	if (fd == number) /* dup3 refuses it, dup2 only checks that it is open. */
		return syscall(SYS_fcntl, fd, 1 /* F_GETFD */) < 0 ? -1 : fd;
	return bare_dup3(fd, number, 0);
}

static int bare_close_range(unsigned first, unsigned last, int flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

static int bare_unshare(int flags)
{
	return (int)syscall(SYS_unshare, flags);
}

static int bare_epoll_create1(int flags)
{
	return (int)syscall(SYS_epoll_create1, flags);
}

static int bare_epoll_create(int size)
{
	if (size > 0)
		return bare_epoll_create1(0);
	errno = EINVAL;
	return -1;
}

struct real real = {
	.poll = bare_poll,
	.ppoll = bare_ppoll,
	.select = bare_select,
	.pselect = bare_pselect,
	.close = bare_close,
	.dup2 = bare_dup2,
	.dup3 = bare_dup3,
	.close_range = bare_close_range,
	.unshare = bare_unshare,
	.epoll_create = bare_epoll_create,
	.epoll_create1 = bare_epoll_create1,
};

/* What is not found stays as it was.  Pointers to functions need a copy. */
static void find(const char *name, void *pointer)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (found)
		memcpy(pointer, &found, sizeof found);
}

void real_init(void)
{
	find("poll", &real.poll);
	find("ppoll", &real.ppoll);
	find("select", &real.select);
	find("pselect", &real.pselect);
	find("close", &real.close);
	find("dup2", &real.dup2);
	find("dup3", &real.dup3);
	find("close_range", &real.close_range);
	find("unshare", &real.unshare);
	find("epoll_create", &real.epoll_create);
	find("epoll_create1", &real.epoll_create1);
	find("__poll_chk", &real.poll_chk);
	find("__ppoll_chk", &real.ppoll_chk);
	find("closefrom", &real.closefrom);
	find("fclose", &real.fclose);
	find("pclose", &real.pclose);
	find("freopen", &real.freopen);
	find("freopen64", &real.freopen64);
	find("closedir", &real.closedir);
}
