/* open(2), write(2) and ioctl(2) of /dev/poll. */
#include "sunos/sys_devpoll.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/time.h"
#include "sys/libcall.h"
#include "sys/sys.h"

/* Solaris before 11 lacks O_CLOEXEC. */
#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif
#ifdef POLLRDHUP
#define DEVPOLL_RDHUP POLLRDHUP
#else
#define DEVPOLL_RDHUP 0
#endif

int xp_sys_devpoll_open(void)
{
	struct xp_uncancelled before = xp_uncancelled_begin();
	int fd = open("/dev/poll", O_RDWR | O_CLOEXEC);

	if (fd >= 0 && O_CLOEXEC == 0)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return (int)xp_uncancelled_end(&before, fd);
}

int xp_sys_devpoll_write(int device, const struct pollfd *fds, int count)
{
	struct xp_uncancelled before = xp_uncancelled_begin();
	size_t size = (size_t)count * sizeof *fds;
	ssize_t rc;

	do
		rc = write(device, fds, size);
	while (rc < 0 && errno == EINTR);
	if (rc >= 0 && (size_t)rc < size) {
		errno = EIO;
		rc = -1;
	}
	rc = (ssize_t)xp_uncancelled_end(&before, rc);
	return rc < 0 ? (int)rc : 0;
}

int xp_sys_devpoll_has(int device, int fd)
{
	struct pollfd entry = {.fd = fd};

	return XP_UNCANCELLED(ioctl(device, DP_ISPOLLED, &entry));
}

static int devpoll_call(int device, struct pollfd *fds, int cap, int timeout_ms)
{
	struct dvpoll call = {
		.dp_fds = fds,
		.dp_nfds = cap,
		.dp_timeout = timeout_ms,
	};

	return ioctl(device, DP_POLL, &call);
}

int xp_sys_devpoll_now(int device, struct pollfd *fds, int cap)
{
	int rc;

	do
		rc = XP_UNCANCELLED(devpoll_call(device, fds, cap, 0));
	while (rc == -EINTR);
	return rc;
}

static int devpoll_timeout(int64_t deadline_ns)
{
	int64_t left_ns;

	if (deadline_ns == XP_NEVER)
		return -1;
	left_ns = deadline_ns - xp_sys_now();
	return left_ns > 0 ? xp_ms_ceil(left_ns) : 0;
}

/*
 * ioctl(2) may not be a cancellation point, so the thread is asynchronously cancelable during this
 * one call, in which it holds nothing that would have to be released.  On illumos this is safe even
 * if the signal that cancels the thread arrives late: while cancellation is disabled, that signal
 * has no effect.  With glibc it is not: see linux/sys_pwait2.c.
 */
int xp_sys_devpoll_wait(int device, struct pollfd *fds, int cap,
                        int64_t deadline_ns)
{
	int timeout_ms = devpoll_timeout(deadline_ns);
	int type;
	int rc;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	rc = XP_LIBCALL(devpoll_call(device, fds, cap, timeout_ms));
	pthread_setcanceltype(type, NULL);
	return rc;
}

short xp_sys_devpoll_bits(uint32_t bits)
{
	return (short)(bits & (POLLIN | POLLOUT | POLLPRI | DEVPOLL_RDHUP));
}
