/*
 * Goal: if a tracked child cannot be watched, NOTE_TRACKERR is reported even if
 * its parent has exited and the parent's process ID is reused (S18).
 * Method: as root, the test gives the ID to another process; the call that
 * watches a process is wrapped.
 */
#include "xt.h"

#include <errno.h>
#include <sys/wait.h>

#include "linux/sys_linux.h"

#define PROC XPOLL_FILT_PROC
#define TRACK XPOLL_NOTE_TRACK
#define TRACKERR XPOLL_NOTE_TRACKERR

static bool no_watch; /* makes the call that watches a process fail */

XT_WRAP(xp_sys_epoll_ctl);
int __wrap_xp_sys_epoll_ctl(int epoll_fd, int op, int fd, uint32_t events,
                            uint64_t token)
{
	return op == EPOLL_CTL_ADD && no_watch
	           ? -ENOSPC
	           : __real_xp_sys_epoll_ctl(epoll_fd, op, fd, events, token);
}

/*
 * Create processes until one gets this ID, and have it exit.  Returns false if the test may not
 * choose IDs.
 */
static bool number_given_anew(pid_t wanted)
{
	pid_t got = -1;

	for (int i = 0; i < 100 && got != wanted; i++) {
		FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "we");

		if (!last)
			return false;
		(void)fprintf(last, "%d", wanted - 1);
		if (fclose(last) != 0)
			return false;
		got = fork();
		if (got == 0)
			_exit(0);
		(void)waitpid(got, NULL, 0);
	}
	return got == wanted;
}

/* Start a process whose parent exits; the process exits when the pipe is closed. */
static int orphan_start(pid_t *parent, int *go)
{
	int ends[2];
	int let[2];

	if (pipe2(ends, O_CLOEXEC) < 0 || pipe2(let, O_CLOEXEC) < 0)
		xt_fail(__FILE__, __LINE__, "pipe2");
	*parent = fork();
	if (*parent == 0) {
		char end;

		(void)close(ends[1]);
		(void)close(let[1]);
		(void)!read(let[0], &end, 1);
		if (fork() == 0)
			(void)!read(ends[0], &end, 1);
		_exit(0);
	}
	(void)close(ends[0]);
	(void)close(let[0]);
	*go = let[1];
	return xt_keep(ends[1]);
}

/*
 * S18: the parent has exited by then, and another process has its ID.  NOTE_TRACKERR is the last
 * event of the parent's registration, which stays until then.
 */
XT_TEST(child_that_cannot_be_watched_is_trackerr_of_who_has_ended)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event = {0};
	pid_t parent;
	int orphan;
	int go;

	if (xpoll_supports(NULL, PROC, TRACK) != 1)
		XT_SKIP("forks cannot be traced this way here");
	orphan = orphan_start(&parent, &go);
	XT_OK(xt_change(queue, (uint64_t)parent, PROC, XPOLL_ADD, TRACK, 0, NULL));
	(void)close(go);
	XT_EQ(waitpid(parent, NULL, 0), parent);
	if (!number_given_anew(parent))
		XT_SKIP("only root can choose a process's number");
	no_watch = true;
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	no_watch = false;
	XT_EXPECT_EQ(event.ident, parent);
	XT_EXPECT_EQ(event.fflags, TRACKERR);
	XT_NONE(queue);
	XT_EXPECT_FAILS(xpoll_lookup(queue, (uint64_t)parent, PROC, &event), ENOENT);
	xt_close(orphan);
}
