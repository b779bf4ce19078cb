/* What only Linux has: see sys.h for the conventions. */
#ifndef XP_OS_SYS_LINUX_H
#define XP_OS_SYS_LINUX_H

#include <pthread.h>
#include <signal.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/threads.h"
#include "base/time.h"
#include "os/rawcall.h"
#include "os/sys_epoll.h"

int xp_sys_dup(int fd); /* close-on-exec */
/* Let number refer to fd's file from now on, too; 0. */
int xp_sys_put(int fd, int number);

/* inotify(7); a watch is a number >= 0. */
int xp_sys_inotify_open(void);
int xp_sys_inotify_add(int inotify_fd, const char *path, uint32_t mask);
int xp_sys_inotify_remove(int inotify_fd, int watch);

/* Memory shared with the kernel: `size` bytes of a file, for reading and writing. */
int xp_sys_map(int fd, size_t size, uint64_t offset, void **memory);
void xp_sys_unmap(void *memory, size_t size);

/* statfs(2): which file system. */
int64_t xp_sys_fs_type(int fd);
/* Of a UNIX-domain listener. */
int64_t xp_sys_unix_backlog(int fd);

/* As xp_sys_epoll_now, until a deadline. */
int xp_sys_epoll_wait(int epoll_fd, struct epoll_event *events, int cap,
                      int64_t deadline_ns);

/*
 * As xp_sys_epoll_wait.  The only thread of a process can be cancelled by
 * itself alone, and that before it waits.
 */
static XP_INLINE int xp_sys_epoll_sleep(int epoll_fd,
                                        struct epoll_event *events, int cap,
                                        int64_t deadline_ns)
{
#if defined(SYS_epoll_wait) && !defined(XPOLL_SEAM)
	if (XP_LIKELY(deadline_ns == XP_NEVER && xp_single_threaded())) {
		pthread_testcancel();
		return (int)xp_rawcall(SYS_epoll_wait, epoll_fd, (long)events, cap, -1, 0, 0);
	}
	if (deadline_ns <= XP_PAST && xp_single_threaded()) {
		pthread_testcancel();
		return (int)xp_rawcall(SYS_epoll_wait, epoll_fd, (long)events, cap, 0, 0, 0);
	}
#endif
	return xp_sys_epoll_wait(epoll_fd, events, cap, deadline_ns);
}

#endif
