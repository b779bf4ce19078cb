/*
 * System calls that are made with a lock held, by syscall(2): unlike the C
 * library's functions these are no cancellation points, and an interposed
 * poll or close does not see them.
 */
#include "os/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"

#define KERNEL_SIGSET_SIZE 8

/* The result of a system call; `saved` is errno from before it. */
static int result(long rc, int saved)
{
	if (rc < 0) {
		rc = -errno;
		errno = saved;
	}
	return (int)rc;
}

int xp_sys_close(int fd)
{
	int saved = errno;

#ifdef __SANITIZE_THREAD__
	/* It keeps book of descriptors and has to see them go. */
	return result(close(fd), saved);
#else
	return result(syscall(SYS_close, fd), saved);
#endif
}

int xp_sys_read(int fd, void *buffer, size_t size)
{
	int saved = errno;

	return result(syscall(SYS_read, fd, buffer, size), saved);
}

int xp_sys_write(int fd, const void *buffer, size_t size)
{
	int saved = errno;

	return result(syscall(SYS_write, fd, buffer, size), saved);
}

int xp_sys_poll_now(struct pollfd *fds, size_t count)
{
	int saved = errno;
	int rc;

	do {
#ifdef SYS_poll
		rc = result(syscall(SYS_poll, fds, count, 0), saved);
#else
		int64_t zero[2] = {0, 0};

		rc = result(syscall(SYS_ppoll, fds, count, zero, NULL,
		                    KERNEL_SIGSET_SIZE), saved);
#endif
	} while (rc == -EINTR);
	return rc;
}

int xp_sys_select_now(int count, long *in, long *out, long *except)
{
	int saved = errno;
	int64_t zero[2];
	int rc;

	do {
		/* The kernel writes the time that is left into it. */
		zero[0] = 0;
		zero[1] = 0;
		rc = result(syscall(SYS_pselect6, count, in, out, except, zero, NULL),
		            saved);
	} while (rc == -EINTR);
	return rc;
}

int xp_sys_eventfd(bool semaphore)
{
	int saved = errno;
	int flags = EFD_CLOEXEC | EFD_NONBLOCK | (semaphore ? EFD_SEMAPHORE : 0);

	return result(eventfd(0, flags), saved);
}

int xp_sys_epoll_create(void)
{
	int saved = errno;

	return result(epoll_create1(EPOLL_CLOEXEC), saved);
}

int xp_sys_epoll_ctl(int epoll_fd, int op, int fd, uint32_t events,
                     uint64_t token)
{
	struct epoll_event event = {.events = events, .data.u64 = token};
	int saved = errno;

	return result(epoll_ctl(epoll_fd, op, fd, &event), saved);
}

int xp_sys_epoll_now(int epoll_fd, struct epoll_event *events, int cap)
{
	int saved = errno;
	int rc;

	do {
#ifdef SYS_epoll_wait
		rc = result(syscall(SYS_epoll_wait, epoll_fd, events, cap, 0), saved);
#else
		rc = result(syscall(SYS_epoll_pwait, epoll_fd, events, cap, 0, NULL,
		                    KERNEL_SIGSET_SIZE), saved);
#endif
	} while (rc == -EINTR);
	return rc;
}

#ifdef XP_HAVE_EPOLL_PWAIT2
/*
 * Nanoseconds; -ENOSYS where the kernel lacks it (Linux < 5.11) or a sandbox
 * hides it, which is remembered: there is no use in asking again.
 */
static int epoll_wait_ns(int epoll_fd, struct epoll_event *events, int cap,
                         int64_t left_ns, const sigset_t *mask)
{
	static _Atomic int missing;
	struct timespec left = {
		.tv_sec = (time_t)(left_ns / XP_NS_PER_SEC),
		.tv_nsec = (long)(left_ns % XP_NS_PER_SEC),
	};
	int saved = errno;
	int rc;

	if (missing)
		return -ENOSYS;
	rc = result(epoll_pwait2(epoll_fd, events, cap, &left, mask), saved);
	if (rc == -ENOSYS || rc == -EPERM) {
		missing = 1;
		rc = -ENOSYS;
	}
	return rc;
}
#else
static int epoll_wait_ns(int epoll_fd, struct epoll_event *events, int cap,
                         int64_t left_ns, const sigset_t *mask)
{
	(void)epoll_fd, (void)events, (void)cap, (void)left_ns, (void)mask;
	return -ENOSYS;
}
#endif

int xp_sys_epoll_wait(int epoll_fd, struct epoll_event *events, int cap,
                      int64_t deadline_ns, const sigset_t *mask)
{
	int saved = errno;
	int timeout_ms = -1;

	if (deadline_ns == XP_NOW) {
		timeout_ms = 0;
	} else if (deadline_ns != XP_NEVER) {
		int64_t left_ns = deadline_ns - xp_sys_now();
		int rc;

		if (left_ns < 0)
			left_ns = 0;
		rc = epoll_wait_ns(epoll_fd, events, cap, left_ns, mask);
		if (rc != -ENOSYS)
			return rc;
		timeout_ms = xp_ms_ceil(left_ns);
	}
	if (!mask)
		return result(epoll_wait(epoll_fd, events, cap, timeout_ms), saved);
	return result(epoll_pwait(epoll_fd, events, cap, timeout_ms, mask), saved);
}

int xp_sys_replace(int fd, int number)
{
	int saved = errno;
	int rc = result(syscall(SYS_dup3, fd, number, EPOLL_CLOEXEC), saved);

	xp_sys_close(fd);
	return rc < 0 ? rc : 0;
}

void *xp_sys_wiped_page(void)
{
	int saved = errno;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED) {
		errno = saved;
		return NULL;
	}
	if (madvise(page, size, MADV_WIPEONFORK) < 0) {
		munmap(page, size);
		errno = saved;
		return NULL;
	}
	return page;
}

const char *xp_sys_getenv(const char *name)
{
	return secure_getenv(name);
}
