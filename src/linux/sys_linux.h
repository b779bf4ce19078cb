/* System calls that only Linux has: see sys/sys.h for the conventions. */
#ifndef XP_LINUX_SYS_LINUX_H
#define XP_LINUX_SYS_LINUX_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "base/threads.h"
#include "base/time.h"
#include "posix/sys_epoll.h"
#include "sys/rawcall.h"

/* eventfd(2) with the counter 0; semaphore: each read takes 1.  Nonblocking and close-on-exec. */
int xp_sys_eventfd(bool semaphore);

int xp_sys_dup(int fd); /* returns a duplicate, close-on-exec */
/* Make `number` a close-on-exec duplicate of fd.  Returns 0 or a negative errno value. */
int xp_sys_dup_to(int fd, int number);

/*
 * signalfd(2): a descriptor that is readable while this signal is pending for the thread that polls
 * the descriptor.
 */
int xp_sys_signal_fd(int number);
/* Accept one pending signal of a signalfd.  Returns false if none is pending. */
bool xp_sys_signal_accept(int signal_fd);
/* Returns true if the calling thread blocks the signal and the signal is pending. */
bool xp_sys_signal_is_pending(int number);

/*
 * inotify(7).  xp_sys_inotify_add returns a watch descriptor, a number >= 0 that identifies the
 * watch.
 */
int xp_sys_inotify_open(void);
int xp_sys_inotify_add(int inotify_fd, const char *path, uint32_t mask);
int xp_sys_inotify_remove(int inotify_fd, int watch);

/*
 * Map `size` bytes at `offset` of a ring's descriptor, shared with the kernel, for reading and
 * writing.
 */
int xp_sys_map(int fd, size_t size, uint64_t offset, void **memory);
void xp_sys_unmap(void *memory, size_t size);

/* Returns the magic number of the descriptor's file system, from statfs(2). */
int64_t xp_sys_fs_type(int fd);

/* Like xp_sys_epoll_now, but sleeps until a deadline.  A cancellation point. */
int xp_sys_epoll_wait(int epoll_fd, struct epoll_event *events, int cap,
                      int64_t deadline_ns);

/*
 * Like xp_sys_epoll_wait, with a relative timeout, by epoll_pwait2(2); -ENOSYS: not available.
 * sys_pwait2.c describes how a thread is cancelled in it.
 */
int xp_sys_epoll_ns_wait(int epoll_fd, struct epoll_event *events, int cap, int64_t left_ns);

/*
 * Returns the C library's epoll_pwait2; NULL: that library has none, or one for a time of another
 * size.
 */
typedef int xp_epoll_pwait2(int epoll_fd, struct epoll_event *events, int cap,
                            const struct timespec *timeout, const sigset_t *mask);
xp_epoll_pwait2 *xp_sys_libc_epoll_pwait2(void);

/*
 * Room for the name of a descriptor in /proc.  The name is made without stdio, which is not
 * async-signal-safe and takes much longer.
 */
enum { XP_FD_PATH_SIZE = 40 };

/* Store "/proc/self/fd/NUMBER", followed by `below`.  Returns the length. */
static inline size_t xp_fd_path(char *path, int fd, const char *below)
{
	static const char folder[] = "/proc/self/fd/";
	size_t len = sizeof folder - 1;
	unsigned rest = (unsigned)fd;

	memcpy(path, folder, len);
	do {
		len++;
		rest /= 10;
	} while (rest > 0);
	rest = (unsigned)fd;
	for (size_t at = len; at >= sizeof folder; rest /= 10)
		path[--at] = (char)('0' + rest % 10);
	memcpy(path + len, below, strlen(below) + 1);
	return len + strlen(below);
}

#endif
