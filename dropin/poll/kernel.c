/*
 * Memory and epoll instances from the kernel.  malloc must not be used here, because the program
 * may call poll(2) in a signal handler that has interrupted malloc.
 */
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "posix/sys_epoll.h"
#include "sys/fdkind.h"
#include "sys/sys.h"

/* F_SETSIG value that marks the library's epoll instances: the last real-time signal */
#define MARK_SIGNAL 64

/*
 * kernel_move_away gives a descriptor one of the AWAY_LAST_FDS numbers just below 256 (AWAY_TABLE)
 * or, if these are taken, just below 512, 1024 and so on.  At these sizes the kernel's table of
 * descriptors ends: the table grows no more than necessary, and the low numbers are left to the
 * program.
 */
#define AWAY_LAST_FDS  32
/*
 * Size of the smallest table of descriptors in which kernel_move_away looks for a number, unless
 * RLIMIT_NOFILE is lower.
 */
#define AWAY_TABLE 256

bool memory_grow(struct memory *memory, size_t size)
{
	int saved = errno;
	size_t wanted = memory->size ? memory->size : PAGE_SIZE_LEAST;
	void *base;

	while (wanted < size)
		wanted *= 2;
	if (memory->base)
		base = mremap(memory->base, memory->size, wanted, MREMAP_MAYMOVE);
	else
		base = mmap(NULL, wanted, PROT_READ | PROT_WRITE,
		            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	errno = saved;
	if (base == MAP_FAILED)
		return false;
	memory->base = base;
	memory->size = wanted;
	return true;
}

void memory_free(struct memory *memory)
{
	int saved = errno;

	if (memory->base)
		munmap(memory->base, memory->size);
	errno = saved;
	*memory = (struct memory){0};
}

bool memory_differs(const void *a, const void *b, size_t size)
{
#ifdef __GLIBC__
	/* glibc's memcmp is optimised for the processor. */
	return memcmp(a, b, size) != 0;
#else
	/* The memcmp of other libraries, such as musl, compares single bytes: compare words. */
	const char *from_a = a;
	const char *from_b = b;
	uint64_t difference = 0;

	for (size_t at = 0; at < size; at += sizeof difference) {
		uint64_t x;
		uint64_t y;

		memcpy(&x, from_a + at, sizeof x);
		memcpy(&y, from_b + at, sizeof y);
		difference |= x ^ y;
	}
	return difference != 0;
#endif
}

int kernel_pid(void)
{
	return (int)syscall(SYS_getpid);
}

size_t kernel_descriptor_limit(void)
{
	struct rlimit limit;
	int saved = errno;
	int rc = getrlimit(RLIMIT_NOFILE, &limit);

	errno = saved;
	return rc < 0 ? 0 : (size_t)limit.rlim_cur;
}

int kernel_move_away(int fd)
{
	long limit = (long)kernel_descriptor_limit();
	long end = AWAY_TABLE;
	int saved = errno;
	int copy;

	for (;; end *= 2) {
		/*
		 * Copy fd to one of the last AWAY_LAST_FDS numbers of a table of `end` numbers, so
		 * that the table need not be larger.  If all of these are taken, the copy gets a
		 * number from `end` on: close the copy, and double `end`.  Skip a table whose last
		 * AWAY_LAST_FDS numbers begin at or below fd: since fd was the lowest free number,
		 * all numbers below fd are taken.
		 */
		if (end - AWAY_LAST_FDS <= fd && end < limit)
			continue;
		if (end > limit)
			end = limit;
		copy = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, end - AWAY_LAST_FDS);
		if (copy < end || end == limit)
			break;
		xp_sys_close(copy);
	}
	if (copy < 0)
		copy = -errno;
	xp_sys_close(fd);
	errno = saved;
	return copy;
}

/*
 * Marks the new epoll instance, so that kernel_is_our_instance recognises the instance through any
 * descriptor.  The mark is a number stored by F_SETSIG, which for other files selects the signal
 * that reports input or output.  An epoll instance sends no signals, so the number has no effect.
 */
int kernel_instance(void)
{
	int saved = errno;
	int fd = (int)syscall(SYS_epoll_create1, EPOLL_CLOEXEC);

	if (fd >= 0 && syscall(SYS_fcntl, fd, F_SETSIG, MARK_SIGNAL) < 0) {
		xp_sys_close(fd);
		fd = -1;
	}
	if (fd < 0)
		fd = -errno;
	errno = saved;
	return fd;
}

bool kernel_is_our_instance(int fd)
{
	int saved = errno;
	bool marked = syscall(SYS_fcntl, fd, F_GETSIG) == MARK_SIGNAL;

	errno = saved;
	return marked;
}

/*
 * epoll_wait(2) with timeout 0 reads the kernel's list of ready entries without a lock.  While
 * another thread polls the instance, the kernel takes the entries off that list, and this call may
 * find none.  poll(2) of the instance waits until they are back: if it reports readiness, repeat.
 */
int kernel_collect(int epoll_fd, struct epoll_event *events, int most, bool shared,
                   unsigned *syscalls)
{
	struct pollfd instance = {.fd = epoll_fd, .events = POLLIN};
	int count;

	for (;;) {
		++*syscalls;
		count = xp_sys_epoll_now(epoll_fd, events, most);
		if (XP_LIKELY(count != 0 || !shared))
			return count;
		++*syscalls;
		if (xp_sys_poll_now(&instance, 1) <= 0)
			return 0;
	}
}

/* Returns the domain of a socket, AF_INET and so on; a negative errno value if fd is no socket. */
static int socket_domain(int fd)
{
	int domain = 0;
	socklen_t length = sizeof domain;
	int saved = errno;
	int rc = getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length);

	if (rc < 0)
		domain = -errno;
	errno = saved;
	return domain;
}

int kernel_may_watch(int fd, unsigned *syscalls)
{
	int kind = xp_fd_kind(fd);

	++*syscalls;
	if (kind < 0)
		return kind;
	if (kind == XP_KIND_FIFO || kind == XP_KIND_COUNTER)
		return 1;
	if (kind != XP_KIND_SOCKET)
		return 0; /* a terminal, whose buffered input only poll(2) makes readable; others */
	++*syscalls;
	switch (socket_domain(fd)) {
	case AF_UNIX:
	case AF_INET:
	case AF_INET6:
	case AF_NETLINK:
		return 1;
	default: /* for example AF_PACKET with a ring in memory, which fills without a wake-up */
		return 0;
	}
}
