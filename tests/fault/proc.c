/*
 * Goal: PROC works where the system refuses the resources for a tracked child,
 * where the kernel lacks newer calls, and where process IDs are reused (S1,
 * S18, S22).  The sweep makes each call of a registration fail.
 * Method: the calls are wrapped at link time.
 */
#include "xt.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "linux/sys_linux.h"
#include "linux/sys_netlink.h"
#include "linux/sys_perf.h"
#include "linux/sys_pidfd.h"
#include "sys/procfs.h"
#include "sys/sys.h"

#define PROC XPOLL_FILT_PROC
#define EXIT XPOLL_NOTE_EXIT
#define FORK XPOLL_NOTE_FORK
#define TRACK XPOLL_NOTE_TRACK
#define CHILD XPOLL_NOTE_CHILD
#define UNKNOWN XPOLL_NOTE_STATUS_UNKNOWN
#define TRACKERR XPOLL_NOTE_TRACKERR

static int calls;      /* number of calls so far that may be made to fail */
static int fails_at;   /* number of the call that fails; 0: none */
static int fails_with; /* error of that call */
static bool old_kernel; /* the kernel returns no exit status of processes that are not children */
static bool no_pidfd;   /* a still older kernel: no pidfd_open(2) */
static bool no_proc;    /* /proc is not mounted */
static int waits;       /* calls of waitid(2) */
static pid_t reused;    /* the process ID that seems to be reused */
/* the process that reused_by's ID shows to the library in place of `reused` */
static pid_t reused_by;

static bool fails(void)
{
	return ++calls == fails_at;
}

static void fail(int number, int error)
{
	calls = 0;
	fails_at = number;
	fails_with = error;
}

XT_WRAP(xp_sys_pidfd_open);
int __wrap_xp_sys_pidfd_open(pid_t pid)
{
	if (no_pidfd)
		return -ENOSYS;
	if (pid == reused && reused_by > 0)
		pid = reused_by;
	return fails() ? fails_with : __real_xp_sys_pidfd_open(pid);
}

XT_WRAP(xp_procfs_open);
int __wrap_xp_procfs_open(pid_t pid)
{
	return no_proc ? -ENOENT : __real_xp_procfs_open(pid);
}

XT_WRAP(xp_sys_netlink_open);
int __wrap_xp_sys_netlink_open(int family, uint32_t groups,
                               const struct sock_fprog *filter)
{
	return fails() ? fails_with
	               : __real_xp_sys_netlink_open(family, groups, filter);
}

XT_WRAP(xp_sys_netlink_send);
int __wrap_xp_sys_netlink_send(int fd, const void *datagram, size_t size)
{
	return fails() ? fails_with
	               : __real_xp_sys_netlink_send(fd, datagram, size);
}

XT_WRAP(xp_sys_perf_open);
int __wrap_xp_sys_perf_open(struct perf_event_attr *attr, pid_t thread, int cpu)
{
	return fails() ? fails_with
	               : __real_xp_sys_perf_open(attr, thread, cpu);
}

XT_WRAP(xp_sys_perf_redirect);
int __wrap_xp_sys_perf_redirect(int fd, int output_fd)
{
	return fails() ? fails_with
	               : __real_xp_sys_perf_redirect(fd, output_fd);
}

XT_WRAP(xp_sys_map);
int __wrap_xp_sys_map(int fd, size_t size, uint64_t offset, void **memory)
{
	return fails() ? fails_with : __real_xp_sys_map(fd, size, offset, memory);
}

XT_WRAP(xp_sys_epoll_ctl);
int __wrap_xp_sys_epoll_ctl(int epoll_fd, int op, int fd, uint32_t events,
                            uint64_t token)
{
	/* EPOLL_CTL_DEL never fails. */
	return op != 2 && fails()
	           ? fails_with
	           : __real_xp_sys_epoll_ctl(epoll_fd, op, fd, events, token);
}

XT_WRAP(xp_zalloc);
void *__wrap_xp_zalloc(size_t size)
{
	return fails() ? NULL : __real_xp_zalloc(size);
}

XT_WRAP(xp_sys_pidfd_reaped_status);
int __wrap_xp_sys_pidfd_reaped_status(int pidfd, int *status)
{
	return old_kernel ? -ENOTTY : __real_xp_sys_pidfd_reaped_status(pidfd, status);
}

XT_WRAP(xp_sys_pidfd_peek_status);
int __wrap_xp_sys_pidfd_peek_status(int pidfd, int *status)
{
	waits++;
	return __real_xp_sys_pidfd_peek_status(pidfd, status);
}

XT_WRAP(xp_procfs_zombie_status);
int __wrap_xp_procfs_zombie_status(pid_t pid, int *status)
{
	return old_kernel ? -EACCES
	                  : __real_xp_procfs_zombie_status(pid, status);
}

/*
 * A child process that exits when its pipe is closed, after it has created `count` children of its
 * own.
 */
struct child {
	pid_t pid;
	int go;
};

static struct child child_start(int count, int code)
{
	struct child child;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		xt_fail(__FILE__, __LINE__, "pipe2");
	child.go = xt_keep(ends[1]);
	child.pid = fork();
	if (child.pid == 0) {
		char end;

		/*
		 * The pipes of other children are inherited: close them, or those children would
		 * not see their end.
		 */
		for (int fd = 3; fd < 200; fd++)
			if (fd != ends[0])
				(void)close(fd);
		(void)!read(ends[0], &end, 1);
		for (int i = 0; i < count; i++)
			if (fork() == 0)
				_exit(code);
		while (count-- > 0)
			(void)wait(NULL);
		_exit(code);
	}
	(void)close(ends[0]);
	return child;
}

static void child_ends(struct child child)
{
	xt_close(child.go);
	/* Wait for the exit; the child stays a zombie. */
	(void)waitid(P_PID, (id_t)child.pid, &(siginfo_t){0},
	             WEXITED | WNOWAIT);
}

static int watch(struct xpoll *queue, struct child child, uint32_t fflags)
{
	return xt_change(queue, (uint64_t)child.pid, PROC, XPOLL_ADD, fflags, 0,
	                 NULL);
}

static bool can_trace(void)
{
	return xpoll_supports(NULL, PROC, FORK) == 1;
}

/*
 * S18: if a wait cannot get the resources for watching a new child, the parent's registration
 * reports NOTE_TRACKERR.
 */
XT_TEST(child_that_cannot_be_registered_is_trackerr)
{
	enum { CHILDREN = 3 };
	bool reached = true;

	if (!can_trace())
		XT_SKIP("forks cannot be traced this way here");
	for (int i = 1; reached; i++) {
		struct xpoll *queue = xt_open_quiet();
		struct child child = child_start(CHILDREN, 0);
		struct xpoll_event event;
		uint32_t notes = 0;
		int births = 0;
		int deaths = 0;

		XT_OK(watch(queue, child, EXIT | TRACK));
		child_ends(child);
		fail(i, -EMFILE);
		while (!(notes & EXIT) || deaths < births) {
			XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON),
			      1);
			births += (event.fflags & CHILD) != 0;
			if (event.ident == (uint64_t)child.pid)
				notes |= event.fflags;
			else
				deaths += (event.fflags & EXIT) != 0;
		}
		reached = calls >= i;
		fail(0, 0);
		XT_EXPECT_EQ(births < CHILDREN, (notes & TRACKERR) != 0);
		XT_EXPECT(births >= CHILDREN - 1);
		XT_NONE(queue);
		(void)waitpid(child.pid, NULL, 0);
		xt_destroy(queue);
	}
}

/*
 * The tracked children are not reaped, and are children of another process, so waitid(2) could not
 * return their status: the library must not call it.
 */
XT_TEST(tracked_children_cost_no_waitid)
{
	enum { CHILDREN = 8 };
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;
	struct child parent;
	uint32_t notes = 0;
	int go[2];
	int let[2];

	if (!can_trace())
		XT_SKIP("forks cannot be traced this way here");
	XT_EQ(pipe2(go, O_CLOEXEC), 0);
	XT_EQ(pipe2(let, O_CLOEXEC), 0);
	parent.pid = fork();
	if (parent.pid == 0) {
		char end;

		(void)close(go[1]);
		(void)close(let[1]);
		(void)!read(go[0], &end, 1);
		for (int i = 0; i < CHILDREN; i++)
			if (fork() == 0)
				_exit(3);
		(void)!read(let[0], &end, 1);
		while (wait(NULL) > 0)
			continue;
		_exit(0);
	}
	XT_OK(watch(queue, parent, EXIT | TRACK));
	(void)close(go[1]);
	waits = 0;
	for (int ends = 0; ends < CHILDREN;) {
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		XT_EXPECT(event.ident != (uint64_t)parent.pid);
		notes |= event.fflags;
		ends += (event.fflags & EXIT) != 0;
		if ((event.fflags & (EXIT | UNKNOWN)) == EXIT)
			XT_EXPECT_EQ(event.data, 3 << 8);
	}
	/* The library falls back to waitid(2) only where /proc does not show the status. */
	XT_EXPECT(waits == 0 || notes & UNKNOWN);
	(void)close(let[1]);
	XT_EQ(waitpid(parent.pid, NULL, 0), parent.pid);
	(void)close(go[0]);
	(void)close(let[0]);
}

/*
 * Without pidfd_open(2) the library polls /proc: it supports NOTE_EXIT, but not the notes that only
 * a tracer can get.
 */
XT_TEST(kernel_without_pidfd_reports_the_end_by_proc)
{
	struct xpoll *queue = xt_open_quiet();
	struct child zombie = child_start(0, 3);
	struct child reaped = child_start(0, 4);
	struct xpoll_event event;

	no_pidfd = true;
	XT_EXPECT_EQ(xpoll_supports(queue, PROC, EXIT), 1);
	XT_EXPECT_EQ(xpoll_supports(queue, PROC, TRACK), 0);
	XT_STATUS(watch(queue, zombie, EXIT | FORK), ENOTSUP);
	XT_STATUS(watch(queue, zombie, EXIT | TRACK), ENOTSUP);
	XT_OK(watch(queue, zombie, EXIT));
	XT_STATUS(watch(queue, zombie, EXIT | TRACK), ENOTSUP);
	XT_NONE(queue);
	child_ends(zombie);
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	XT_EXPECT_EQ(event.ident, (uint64_t)zombie.pid);
	XT_EXPECT_EQ(event.fflags, EXIT);
	XT_EXPECT_EQ(event.data, 3 << 8);
	XT_NONE(queue);
	XT_OK(watch(queue, reaped, EXIT));
	child_ends(reaped);
	XT_EQ(waitpid(reaped.pid, NULL, 0), reaped.pid);
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	XT_EXPECT_EQ(event.ident, (uint64_t)reaped.pid);
	XT_EXPECT_EQ(event.fflags, EXIT | UNKNOWN);
	XT_NONE(queue);
	XT_STATUS(watch(queue, reaped, EXIT), ESRCH);
	XT_EQ(waitpid(zombie.pid, NULL, 0), zombie.pid);
	no_pidfd = false;
}

XT_TEST(neither_pidfd_nor_proc_is_enotsup)
{
	struct xpoll *queue = xt_open_quiet();
	struct child child = child_start(0, 0);

	no_pidfd = no_proc = true;
	XT_EXPECT_STATUS(watch(queue, child, EXIT), ENOTSUP);
	XT_EXPECT_EQ(xpoll_supports(queue, PROC, EXIT), 0);
	no_pidfd = no_proc = false;
	child_ends(child);
	(void)waitpid(child.pid, NULL, 0);
}

/*
 * If the kernel does not return the exit status, the event says that the status is unknown, not
 * that it is 0.
 */
XT_TEST(status_that_an_old_kernel_does_not_tell_is_unknown)
{
	struct xpoll *queue = xt_open_quiet();
	struct child reaped = child_start(0, 3);
	struct child zombie = child_start(0, 3);
	struct xpoll_event event;

	old_kernel = true;
	XT_OK(watch(queue, reaped, EXIT));
	child_ends(reaped);
	XT_EXPECT_EQ(waitpid(reaped.pid, NULL, 0), reaped.pid);
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	XT_EXPECT_EQ(event.fflags, EXIT | UNKNOWN);
	XT_EXPECT_EQ(event.data, 0);
	/* The child was not reaped, so waitid(2) returns its status. */
	XT_OK(watch(queue, zombie, EXIT));
	child_ends(zombie);
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	old_kernel = false;
	XT_EXPECT_EQ(event.fflags, EXIT);
	XT_EXPECT_EQ(event.data, 3 << 8);
	(void)waitpid(zombie.pid, NULL, 0);
}

/*
 * S1: the first process has exited and its ID is reused; no wait comes before this ADD, which must
 * register the new process.
 */
static void add_finds_another(int modes, int same_modes)
{
	struct xpoll *queue = xt_open_quiet();
	struct child old = child_start(0, 3);
	struct child fresh = child_start(0, 4);
	struct xpoll_event event;

	XT_OK(xt_change(queue, (uint64_t)old.pid, PROC, XPOLL_ADD | modes, EXIT,
	                0, &old));
	child_ends(old);
	XT_EQ(waitpid(old.pid, NULL, 0), old.pid);
	reused = old.pid;
	reused_by = fresh.pid;
	/*
	 * The library cannot find out which process has the ID, so ADD fails; it must not treat the
	 * old registration as the new process's.
	 */
	fail(1, -ENOMEM);
	XT_STATUS(xt_change(queue, (uint64_t)old.pid, PROC, XPOLL_ADD | same_modes, EXIT, 0,
	                    &fresh),
	          ENOMEM);
	fail(0, 0);
	XT_OK(xt_change(queue, (uint64_t)old.pid, PROC,
	                XPOLL_ADD | same_modes, EXIT, 0, &fresh));
	XT_NONE(queue);
	XT_EQ(xpoll_lookup(queue, (uint64_t)old.pid, PROC, &event), 0);
	XT_EXPECT_EQ(event.flags, XPOLL_CLEAR);
	child_ends(fresh);
	XT_GETS(queue, &event, old.pid, PROC);
	reused_by = 0;
	XT_EXPECT_EQ(event.fflags, EXIT);
	XT_EXPECT_EQ(event.data, 4 << 8);
	XT_EXPECT(event.udata == &fresh);
	XT_NONE(queue);
	(void)waitpid(fresh.pid, NULL, 0);
	xt_destroy(queue);
}

XT_TEST(add_of_a_reused_number_before_any_wait_begins_anew)
{
	XT_CALL(add_finds_another(0, 0));
	XT_CALL(add_finds_another(XPOLL_DISPATCH, 0));
	XT_CALL(add_finds_another(XPOLL_DISABLE, 0));
	XT_CALL(add_finds_another(XPOLL_ONESHOT, XPOLL_ENABLE));
}

/*
 * The process was reaped and its ID is not reused: ADD keeps the registration, whose event is still
 * delivered.
 */
XT_TEST(add_of_a_reaped_number_keeps_the_end)
{
	struct xpoll *queue = xt_open_quiet();
	struct child child = child_start(0, 3);
	struct xpoll_event event;

	XT_OK(watch(queue, child, EXIT));
	child_ends(child);
	XT_EQ(waitpid(child.pid, NULL, 0), child.pid);
	XT_OK(watch(queue, child, EXIT));
	XT_GETS(queue, &event, child.pid, PROC);
	XT_EXPECT(event.fflags & EXIT);
	XT_NONE(queue);
}
