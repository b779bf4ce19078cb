/*
 * System calls, most of which are made with a lock held.  These bypass the C library where its
 * functions are cancellation points, or may be replaced by a drop-in.  Only xp_sys_epoll_wait,
 * which sleeps, is a cancellation point.
 */
#include "linux/sys_linux.h"
#include "sys/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/time.h"
#include "sys/libcall.h"
#include "sys/rawcall.h"

#define KERNEL_SIGSET_SIZE 8

int xp_sys_close(int fd)
{
	/*
	 * ThreadSanitizer tracks descriptors only by calls of the C library's functions: use the
	 * library's close.
	 */
	if (XP_TSAN)
		return XP_LIBCALL(close(fd));
	return (int)xp_rawcall(SYS_close, fd, 0, 0, 0, 0, 0);
}

int xp_sys_read(int fd, void *buffer, size_t size)
{
	return (int)xp_rawcall(SYS_read, fd, (long)buffer, (long)size, 0, 0, 0);
}

int xp_sys_write(int fd, const void *buffer, size_t size)
{
	return (int)xp_rawcall(SYS_write, fd, (long)buffer, (long)size, 0, 0, 0);
}

int xp_sys_poll_now(struct pollfd *fds, size_t count)
{
	int rc;

	do {
#ifdef SYS_poll
		rc = (int)xp_rawcall(SYS_poll, (long)fds, (long)count, 0, 0, 0, 0);
#else
		int64_t zero[2] = {0, 0};

		rc = (int)xp_rawcall(SYS_ppoll, (long)fds, (long)count, (long)zero,
		                     0, KERNEL_SIGSET_SIZE, 0);
#endif
	} while (rc == -EINTR);
	return rc;
}

int xp_sys_select_now(int count, long *in, long *out, long *except)
{
	int64_t zero[2];
	int rc;

	do {
		/*
		 * reset the timeout before each call, because the kernel stores the remaining time
		 * in it
		 */
		zero[0] = 0;
		zero[1] = 0;
		rc = (int)xp_rawcall(SYS_pselect6, count, (long)in, (long)out,
		                     (long)except, (long)zero, 0);
	} while (rc == -EINTR);
	return rc;
}

int xp_sys_eventfd(bool semaphore)
{
	return XP_LIBCALL(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK |
	                             (semaphore ? EFD_SEMAPHORE : 0)));
}

int xp_sys_epoll_create(void)
{
	return XP_LIBCALL(epoll_create1(EPOLL_CLOEXEC));
}

/* struct epoll_params of Linux 6.9, for older headers. */
struct busy_poll_params {
	uint32_t microseconds;
	uint16_t budget; /* packets per poll; 0: the kernel's default */
	uint8_t prefer;  /* prefer busy polling to interrupts of the device */
	uint8_t pad;
};
#define EPOLL_SET_PARAMS _IOW(0x8a, 0x01, struct busy_poll_params)
#define EPOLL_GET_PARAMS _IOR(0x8a, 0x02, struct busy_poll_params)

int xp_sys_busy_poll_set(int epoll_fd, uint32_t microseconds)
{
	struct busy_poll_params params = {.microseconds = microseconds};
	int rc = XP_LIBCALL(ioctl(epoll_fd, EPOLL_SET_PARAMS, &params));

	/* The error is ENOTTY before Linux 6.9, and EINVAL without network support. */
	return rc < 0 ? -ENOTSUP : 0;
}

void xp_sys_busy_poll_copy(int epoll_fd, int other_fd)
{
	struct busy_poll_params params = {0};

	if (XP_LIBCALL(ioctl(other_fd, EPOLL_GET_PARAMS, &params)) == 0 && params.microseconds)
		(void)xp_sys_busy_poll_set(epoll_fd, params.microseconds);
}

int xp_sys_epoll_ctl(int epoll_fd, int op, int fd, uint32_t events,
                     uint64_t token)
{
	struct epoll_event event = {.events = events, .data.u64 = token};

	return (int)xp_rawcall(SYS_epoll_ctl, epoll_fd, op, fd, (long)&event, 0, 0);
}

int xp_sys_epoll_now(int epoll_fd, struct epoll_event *events, int cap)
{
	int rc;

	do {
#ifdef SYS_epoll_wait
		rc = (int)xp_rawcall(SYS_epoll_wait, epoll_fd, (long)events, cap, 0,
		                     0, 0);
#else
		rc = (int)xp_rawcall(SYS_epoll_pwait, epoll_fd, (long)events, cap, 0,
		                     0, KERNEL_SIGSET_SIZE);
#endif
	} while (rc == -EINTR);
	return rc;
}

int xp_sys_epoll_wait(int epoll_fd, struct epoll_event *events, int cap,
                      int64_t deadline_ns)
{
	int timeout_ms = deadline_ns == XP_NEVER ? -1 : 0;

	if (deadline_ns > XP_NOW_UNLOCKED && deadline_ns < XP_NEVER) {
		int64_t left_ns = deadline_ns - xp_sys_now();
		int rc;

		if (left_ns < 0)
			left_ns = 0;
		rc = xp_sys_epoll_ns_wait(epoll_fd, events, cap, left_ns);
		if (rc != -ENOSYS)
			return rc;
		timeout_ms = xp_ms_ceil(left_ns);
	}
	return XP_LIBCALL(epoll_wait(epoll_fd, events, cap, timeout_ms));
}

int xp_sys_dup(int fd)
{
	return (int)xp_rawcall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0, 0, 0, 0);
}

int xp_sys_dup_to(int fd, int number)
{
	int rc = (int)xp_rawcall(SYS_dup3, fd, number, O_CLOEXEC, 0, 0, 0);

	return rc < 0 ? rc : 0;
}

int xp_sys_move_fd(int fd, int number)
{
	int rc = xp_sys_dup_to(fd, number);

	xp_sys_close(fd);
	return rc;
}

void *xp_sys_wipe_on_fork_page(void)
{
	int saved = errno;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/*
	 * An emulator that accepts an invalid advice, -1, ignores all advice, and would not clear
	 * the page in a forked child: return NULL.
	 */
	if (page != MAP_FAILED && (madvise(page, size, MADV_WIPEONFORK) < 0 ||
	                           madvise(page, size, -1) == 0)) {
		munmap(page, size);
		page = MAP_FAILED;
	}
	errno = saved;
	return page == MAP_FAILED ? NULL : page;
}

int xp_sys_map(int fd, size_t size, uint64_t offset, void **memory)
{
	void *mapped = MAP_FAILED;
	int rc = XP_LIBCALL((mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
	                                   (off_t)offset)) == MAP_FAILED ? -1 : 0);

	*memory = rc < 0 ? NULL : mapped;
	return rc;
}

void xp_sys_unmap(void *memory, size_t size)
{
	(void)XP_LIBCALL(munmap(memory, size));
}

const char *xp_sys_getenv(const char *name)
{
	return secure_getenv(name);
}
