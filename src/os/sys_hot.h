/*
 * The two system calls of a usual wait, inline.
 *
 * The kernel leaves the processor's predictor of returns empty.  So each
 * function between the caller of the library and the system call costs a
 * mispredicted return, about 7 ns: half of what a wait costs besides the
 * kernel's own work.  With XPOLL_SEAM, which all test builds but the release
 * have, they go through the seam of os/sys.h.
 */
#ifndef XP_OS_SYS_HOT_H
#define XP_OS_SYS_HOT_H

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>

#include "base/compiler.h"
#include "base/threads.h"
#include "base/time.h"
#include "os/rawcall.h"
#include "os/sys.h"

/* As xp_sys_poll_now, for one descriptor. */
static XP_INLINE int xp_sys_look(struct pollfd *look)
{
#if defined(SYS_poll) && !defined(XPOLL_SEAM)
	int rc = (int)xp_rawcall(SYS_poll, (long)look, 1, 0, 0, 0, 0);

	if (XP_LIKELY(rc != -EINTR))
		return rc;
#endif
	return xp_sys_poll_now(look, 1);
}

/*
 * As xp_sys_epoll_wait.  The only thread of a process can be cancelled by
 * itself alone, and that before it waits.
 */
static XP_INLINE int xp_sys_epoll_sleep(int epoll_fd,
                                        struct epoll_event *events, int cap,
                                        int64_t deadline_ns,
                                        const sigset_t *mask)
{
#if defined(SYS_epoll_wait) && !defined(XPOLL_SEAM)
	if (XP_LIKELY(deadline_ns == XP_NEVER && !mask && xp_single_threaded())) {
		pthread_testcancel();
		return (int)xp_rawcall(SYS_epoll_wait, epoll_fd, (long)events, cap,
		                       -1, 0, 0);
	}
#endif
	return xp_sys_epoll_wait(epoll_fd, events, cap, deadline_ns, mask);
}

#endif
