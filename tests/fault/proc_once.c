/*
 * Goal: the end of a process is not lost although the kernel reports it once (S22, hazard 20).
 * Method: the calls are wrapped at link time.
 */
#include "xt.h"

#include <sys/wait.h>

#include "linux/sys_linux.h"
#include "source/proc_state.h"
#include "sys/sys.h"

#define PROC XPOLL_FILT_PROC
#define EXIT XPOLL_NOTE_EXIT

static atomic_bool cancelled; /* the next thread to which epoll_wait(2) reports is cancelled */
static bool unknown; /* the next look at a process does not show whether it has exited */

XT_WRAP(xp_sys_epoll_wait);
int __wrap_xp_sys_epoll_wait(int epoll_fd, struct epoll_event *events, int cap,
                             int64_t deadline_ns)
{
	int rc = __real_xp_sys_epoll_wait(epoll_fd, events, cap, deadline_ns);

	if (rc > 0 && atomic_exchange(&cancelled, false)) {
		(void)pthread_cancel(pthread_self());
		pthread_testcancel();
	}
	return rc;
}

XT_WRAP(xp_proc_outcome);
enum xp_proc_outcome __wrap_xp_proc_outcome(int fd, pid_t pid, bool tracked, int *status)
{
	bool hidden = unknown;

	unknown = false;
	return hidden ? XP_PROC_LIVES : __real_xp_proc_outcome(fd, pid, tracked, status);
}

/* Start and watch a child that exits with status 3 when the pipe is closed. */
static pid_t child_watch(struct xpoll *queue, struct xt_pair pipe)
{
	pid_t pid;

	XT_EXPECT_EQ(fcntl(pipe.r, F_SETFL, 0), 0);
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		char end;

		(void)close(pipe.w);
		(void)!read(pipe.r, &end, 1);
		_exit(3);
	}
	XT_EXPECT_EQ(xt_change(queue, (uint64_t)pid, PROC, XPOLL_ADD, EXIT, 0, NULL), 0);
	return pid;
}

/* Let the child exit; it stays a zombie. */
static void child_ends(struct xt_pair pipe, pid_t pid)
{
	xt_close(pipe.w);
	(void)waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
}

static void gets_the_end(struct xpoll *queue, pid_t pid)
{
	struct xpoll_event event;

	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	XT_EXPECT_EQ(event.data, 3 << 8);
	XT_NONE(queue);
	XT_EQ(waitpid(pid, NULL, 0), pid);
}

/* Without memory, say, a look at the process shows nothing. */
XT_TEST(end_that_a_look_does_not_show_is_reported_again)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	pid_t pid = child_watch(queue, pipe);

	unknown = true;
	child_ends(pipe, pid);
	XT_CALL(gets_the_end(queue, pid));
	XT_EXPECT(!unknown);
}

static void wait_once(void *queue)
{
	struct xpoll_event event;

	(void)xpoll_event(queue, NULL, 0, &event, 1, -1);
}

/* The next wait gets what the kernel has reported to a thread that was cancelled. */
XT_TEST(end_reported_to_a_cancelled_thread_is_not_lost)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	struct xt_thread *thread;
	pid_t pid;

	if (XT_SANITIZED)
		XT_SKIP("a sanitizer loses track of a cancelled thread");
	pid = child_watch(queue, pipe);
	atomic_store(&cancelled, true);
	thread = xt_start(wait_once, queue);
	xt_asleep(thread);
	child_ends(pipe, pid);
	xt_join(thread);
	XT_EXPECT(!atomic_load(&cancelled));
	XT_CALL(gets_the_end(queue, pid));
}
