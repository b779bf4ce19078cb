/*
 * Goal: a wait with a timeout ends in time and sees its event both with
 * epoll_pwait2(2) and where the kernel lacks it or a sandbox hides it, for which
 * it is asked once.
 * Method: the system call is answered at link time, each time in a child of its own,
 * as the answer is remembered.
 */
#include "xt.h"

#include <sys/syscall.h>

#include "os/rawcall.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

static int answer; /* of the kernel; 0: its own */
static int asked;

XT_WRAP(xp_rawcall);

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
#ifndef __SANITIZE_THREAD__ /* It waits in milliseconds. */
	XT_EXPECT(asked >= 1);
#endif
	xt_put(pipe.w);
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	XT_EXPECT_EQ(event.filter, READ);
	if (answer)
		XT_EXPECT(asked <= 1);
}

static void waits_with(int kernel)
{
	asked = 0;
	answer = kernel;
	waits_in_time();
}

static void lacks(void *unused)
{
	(void)unused;
	waits_with(-ENOSYS);
}

static void hides(void *unused)
{
	(void)unused;
	waits_with(-EPERM);
}

XT_TEST(a_kernel_without_it)
{
	XT_EXPECT(xt_child(lacks, NULL));
}

XT_TEST(a_sandbox_hides_it)
{
	XT_EXPECT(xt_child(hides, NULL));
}

XT_TEST(the_kernel_s_own)
{
	waits_with(0);
}
