/*
 * Goal: a wait with a timeout ends in time, delivers its event and can be
 * cancelled: with the C library's epoll_pwait2, without that function, and
 * where the kernel lacks epoll_pwait2(2) or a sandbox hides it; in the last
 * case the system call is tried only once.
 * Method: the function is hidden and the system call is replaced at link time;
 * each case runs in a child of its own, because the library remembers whether
 * the call works.
 */
#include "xt_cancel.h"

#include <sys/epoll.h>
#include <sys/syscall.h>

#include "linux/sys_linux.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

static bool hidden; /* makes the C library seem to lack epoll_pwait2 */
static int answer;  /* result of the system call, a negative errno value; 0: make the real call */
static atomic_int asked;

XT_WRAP(xp_rawcall);
XT_WRAP(xp_sys_libc_epoll_pwait2);

long __wrap_xp_rawcall(long call, long a, long b, long c, long d, long e,
                       long f)
{
	if (call == SYS_epoll_pwait2) {
		asked++;
		if (answer)
			return answer;
	}
	return __real_xp_rawcall(call, a, b, c, d, e, f);
}

static int libc_pwait2(int epoll_fd, struct epoll_event *events, int cap,
                       const struct timespec *timeout, const sigset_t *mask)
{
	asked++;
	if (answer) {
		errno = -answer;
		return -1;
	}
	return __real_xp_sys_libc_epoll_pwait2()(epoll_fd, events, cap, timeout, mask);
}

xp_epoll_pwait2 *__wrap_xp_sys_libc_epoll_pwait2(void)
{
	return hidden || !__real_xp_sys_libc_epoll_pwait2() ? NULL : libc_pwait2;
}

static void waits_in_time(void)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;
	int64_t timeout_ns = INT64_C(1500000);
	int64_t begin = xt_now();

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, timeout_ns), 0);
	XT_EXPECT(xt_now() - begin >= timeout_ns);
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 100), 0);
#ifndef __SANITIZE_THREAD__ /* ThreadSanitizer's waits are in milliseconds */
	XT_EXPECT(asked >= 1);
#endif
	xt_put(pipe.w);
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	XT_EXPECT_EQ(event.filter, READ);
	if (answer)
		XT_EXPECT(asked <= 1);
}

/*
 * Run the waits with this result of the system call; waits_without also hides the C library's
 * function.
 */
static void waits_with(void *kernel)
{
	answer = *(int *)kernel;
	asked = 0;
	waits_in_time();
}

static void waits_without(void *kernel)
{
	hidden = true;
	waits_with(kernel);
}

static void in_children(int kernel)
{
	XT_EXPECT(xt_child(waits_with, &kernel));
	XT_EXPECT(xt_child(waits_without, &kernel));
}

XT_TEST(a_kernel_without_it)
{
	in_children(-ENOSYS);
}

XT_TEST(a_sandbox_hides_it)
{
	in_children(-EPERM);
}

XT_TEST(the_kernel_s_own)
{
	in_children(0);
}

/* Without the function a wait makes one system call if its event is there, else two. */
static void count_calls(void *unused)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;

	(void)unused;
	hidden = true;
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 1000), 0);
	asked = 0;
	xt_put(pipe.w);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	XT_EQ(asked, 0);
	xt_drain(pipe.r);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 2500000), 0);
	XT_CHECK(asked <= 1);
}

XT_TEST(rest_of_a_millisecond_is_one_call_more)
{
	XT_EXPECT(xt_child(count_calls, NULL));
}

static void wait_events(struct xt_storm *storm, bool limited)
{
	struct xpoll_event event;

	(void)XT_EXPECT(xpoll_event(storm->object, NULL, 0, &event, 1,
	                            limited ? 50000 : XT_SOON) >= 0);
}

/*
 * Like stress/cancel, with the system calls that the library uses if the C library lacks
 * epoll_pwait2.
 */
XT_TEST(cancelled_without_the_function)
{
	struct xt_storm storm = {.wait = wait_events, .object = xt_open_quiet()};

	if (XT_SANITIZED)
		XT_SKIP("a sanitizer loses track of a cancelled thread");
	hidden = true;
	answer = 0;
	xt_storm_prepare(&storm);
	XT_OK(xt_add(storm.object, storm.pipe.r, READ, 0));
	xt_storm_run(&storm, 100);
	hidden = false;
}
