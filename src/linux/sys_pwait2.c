/*
 * epoll_pwait2(2), as a cancellation point.
 *
 * The way in which a thread can be cancelled in the call depends on the C library:
 * - With the function epoll_pwait2 (glibc since 2.35): by that function.
 * - With an older glibc: by epoll_wait(2), for the whole milliseconds of the timeout; the rest of
 *   less than a millisecond is a raw system call, which cannot be cancelled.
 * - With others, such as musl: by a raw system call with asynchronous cancellation.
 *
 * Asynchronous cancellation is not safe with glibc.  Up to version 2.40 its pthread_cancel marks a
 * thread that can be cancelled asynchronously, and then sends it a signal.  If the signal arrives
 * after the call, the thread ends in the next function that is a cancellation point, even if
 * cancellation is disabled there and a mutex is held.  The signal of musl does nothing while
 * cancellation is disabled.
 */
#include "linux/sys_linux.h"

#include <limits.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "sys/libcall.h"
#include "sys/sys.h"

#define KERNEL_SIGSET_SIZE 8

/*
 * Headers may lack the number of the system call.  Alpha and MIPS have other numbers: use -1 there,
 * which fails with ENOSYS.
 */
#ifndef SYS_epoll_pwait2
#if defined(__alpha__) || defined(__mips__)
#define SYS_epoll_pwait2 (-1)
#else
#define SYS_epoll_pwait2 441
#endif
#endif

static int pwait2_raw(int epoll_fd, struct epoll_event *events, int cap, int64_t left_ns)
{
	int64_t left[2] = {left_ns / XP_NS_PER_SEC, left_ns % XP_NS_PER_SEC};

	XP_ASSERT(left_ns >= 0);
	return (int)xp_rawcall(SYS_epoll_pwait2, epoll_fd, (long)events, cap, (long)left, 0,
	                       KERNEL_SIGSET_SIZE);
}

#ifdef __GLIBC__

/*
 * Wait for less than a millisecond by a raw system call.  A cancellation is acted upon only when no
 * event was stored, so no event is lost.
 */
static int pwait2_below_ms(int epoll_fd, struct epoll_event *events, int cap, int64_t left_ns)
{
	int rc;

	pthread_testcancel();
	rc = pwait2_raw(epoll_fd, events, cap, left_ns);
	if (rc <= 0)
		pthread_testcancel();
	return rc;
}

/* Wait by epoll_wait(2) for the whole milliseconds, and then by a raw system call for the rest. */
static int pwait2_in_two(int epoll_fd, struct epoll_event *events, int cap, int64_t left_ns)
{
	int64_t deadline_ns = xp_deadline(xp_sys_now(), left_ns);

	XP_ASSERT(left_ns >= 0);
	while (left_ns >= XP_NS_PER_MS) {
		int64_t whole_ms = left_ns / XP_NS_PER_MS;
		int ms = whole_ms < INT_MAX ? (int)whole_ms : INT_MAX;
		int rc = XP_LIBCALL(epoll_wait(epoll_fd, events, cap, ms));

		left_ns = deadline_ns - xp_sys_now();
		if (rc != 0 || left_ns <= 0)
			return rc;
	}
	return pwait2_below_ms(epoll_fd, events, cap, left_ns);
}

static int pwait2_cancellable(int epoll_fd, struct epoll_event *events, int cap, int64_t left_ns)
{
	xp_epoll_pwait2 *pwait2 = xp_sys_libc_epoll_pwait2();
	struct timespec left = {
		.tv_sec = (time_t)(left_ns / XP_NS_PER_SEC),
		.tv_nsec = (long)(left_ns % XP_NS_PER_SEC),
	};

	if (XP_UNLIKELY(!pwait2))
		return pwait2_in_two(epoll_fd, events, cap, left_ns);
	return XP_LIBCALL(pwait2(epoll_fd, events, cap, &left, NULL));
}

#else

/*
 * Not inlined, because a cleanup handler of the caller is certain to run only if the thread is
 * cancelled inside a function that the caller has called.
 */
static XP_NOINLINE int pwait2_cancellable(int epoll_fd, struct epoll_event *events, int cap,
                                          int64_t left_ns)
{
	int type, rc;

	(void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	rc = pwait2_raw(epoll_fd, events, cap, left_ns);
	(void)pthread_setcanceltype(type, NULL);
	return rc;
}

#endif

/*
 * If the kernel lacks the call (Linux < 5.11) or a sandbox refuses it, returns -ENOSYS, and so does
 * each later call, without a system call.
 */
int xp_sys_epoll_ns_wait(int epoll_fd, struct epoll_event *events, int cap, int64_t left_ns)
{
	/*
	 * ThreadSanitizer runs signal handlers during a wait only in calls that it knows: use
	 * epoll_wait(2).
	 */
	static _Atomic int missing = XP_TSAN;
	int rc;

	if (missing)
		return -ENOSYS;
	rc = pwait2_cancellable(epoll_fd, events, cap, left_ns);
	if (rc == -ENOSYS || rc == -EPERM || rc == -EACCES) {
		missing = 1;
		rc = -ENOSYS;
	}
	return rc;
}
