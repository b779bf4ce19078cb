/*
 * The system calls of the most common wait, inline.
 *
 * After a system call the processor has lost its prediction of returns, so each function between
 * the caller of the library and the system call costs a mispredicted return.  With XPOLL_SEAM,
 * which is defined in the build that tests link, the calls go through the functions of sys/sys.h,
 * which tests replace.
 */
#ifndef XP_SYS_SYS_HOT_H
#define XP_SYS_SYS_HOT_H

#include <errno.h>
#include <poll.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "sys/sys.h"

#if defined(__linux__) && !defined(XPOLL_SEAM)
#include <sys/ioctl.h>

#include "sys/rawcall.h"
#endif

/*
 * Like xp_sys_poll_now for one descriptor, but may fail with EINTR.  In a release build it calls no
 * function, so its callers need not save registers.
 */
static XP_INLINE int xp_sys_probe(struct pollfd *probe)
{
#if defined(SYS_poll) && !defined(XPOLL_SEAM)
	return (int)xp_rawcall_3(SYS_poll, (long)probe, 1, 0);
#else
	return xp_sys_poll_now(probe, 1);
#endif
}

/* 1 if xp_sys_direct_sleep works on this system and in this build. */
#if defined(SYS_epoll_wait) && !defined(XPOLL_SEAM)
#define XP_SYS_DIRECT 1
#else
#define XP_SYS_DIRECT 0
#endif

/*
 * epoll_wait(2) without a timeout, as the epoll back end waits without a signal mask.  Unlike the
 * back end's wait, no cancellation point: only the single thread of a process calls this, after
 * xp_testcancel_alone.
 */
static XP_INLINE int xp_sys_direct_sleep(int epoll_fd, void *fired, int cap)
{
#if XP_SYS_DIRECT
	return (int)xp_rawcall_4(SYS_epoll_wait, epoll_fd, (long)fired, cap, -1);
#else
	(void)epoll_fd;
	(void)fired;
	(void)cap;
	return -ENOSYS;
#endif
}

#endif
