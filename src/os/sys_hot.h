/*
 * The system calls of a usual wait, inline: here the look at one descriptor,
 * in os/linux/sys_linux.h that of epoll.
 *
 * The kernel leaves the processor's predictor of returns empty.  So each
 * function between the caller of the library and the system call costs a
 * mispredicted return, about 7 ns: half of what a wait costs besides the
 * kernel's own work.  With XPOLL_SEAM, which all test builds but the release
 * have, they go through the seam of os/sys.h.
 */
#ifndef XP_OS_SYS_HOT_H
#define XP_OS_SYS_HOT_H

#include <errno.h>
#include <poll.h>

#include "base/compiler.h"
#include "os/sys.h"

#if defined(__linux__) && !defined(XPOLL_SEAM)
#include <sys/ioctl.h>

#include "os/rawcall.h"
#endif

/*
 * As xp_sys_poll_now, for one descriptor; if it fails, that may not.  A call here would
 * have its callers save their registers.
 */
static XP_INLINE int xp_sys_probe(struct pollfd *probe)
{
#if defined(SYS_poll) && !defined(XPOLL_SEAM)
	return (int)xp_rawcall_3(SYS_poll, (long)probe, 1, 0);
#else
	return xp_sys_poll_now(probe, 1);
#endif
}

/* As xp_sys_unread. */
static XP_INLINE int64_t xp_sys_unread_hot(int fd)
{
#if defined(__linux__) && !defined(XPOLL_SEAM)
	int count = 0;
	long rc = xp_rawcall_3(SYS_ioctl, fd, FIONREAD, (long)&count);

	return rc < 0 ? rc : count;
#else
	return xp_sys_unread(fd);
#endif
}

#endif
