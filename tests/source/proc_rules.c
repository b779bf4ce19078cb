/*
 * Goal: PROC in all modes, with several queues, at the system's limits and
 * after fork; it changes nothing in the program (S3, S10, S11, S17, S19, S26).
 * Method: helpers that exit; waitpid(2), called after the event, is the oracle.
 */
#include "history.h"

#ifndef _WIN32
#include <sys/resource.h>
#endif
#include <sys/wait.h>

static int watch(struct xpoll *queue, pid_t pid, int flags)
{
	return xt_change(queue, (uint64_t)pid, PROC, XPOLL_ADD | flags, EXIT, 0,
	                 NULL);
}

/* S3, S10: a disabled PROC delivers nothing until ENABLE. */
XT_TEST(disabled_is_silent_until_enabled)
{
	struct xpoll *queue = xt_open();
	struct helper helper = helper_start();

	XT_OK(watch(queue, helper.pid, XPOLL_DISABLE));
	helper_exit(helper, 2);
	helper_await_end(helper);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, (uint64_t)helper.pid, PROC, XPOLL_ENABLE));
	XT_CHECK(history_ends_with(queue, helper, HELPER_STATUS(2)));
	XT_NONE(queue);
}

XT_TEST(each_mode_delivers_once)
{
	static const int modes[] = {XPOLL_CLEAR, XPOLL_ONESHOT, XPOLL_DISPATCH};
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 3; i++) {
		struct helper helper = helper_start();

		XT_OK(watch(queue, helper.pid, modes[i]));
		helper_exit(helper, i);
		XT_CHECK(history_ends_with(queue, helper, HELPER_STATUS(i)));
		XT_NONE(queue);
		XT_STATUS(xt_flag(queue, (uint64_t)helper.pid, PROC,
		                  XPOLL_ENABLE), ENOENT);
	}
}

XT_TEST(delete_of_one_that_has_ended_is_silent)
{
	struct xpoll *queue = xt_open();
	struct helper helper = helper_start();

	XT_OK(watch(queue, helper.pid, 0));
	helper_exit(helper, 0);
	helper_await_end(helper);
	XT_OK(xt_flag(queue, (uint64_t)helper.pid, PROC, XPOLL_DELETE));
	XT_NONE(queue);
	XT_EQ(helper_wait(helper), 0);
}

#ifndef _WIN32
/* S7: what a forked process has copies of must not be reported after the end. */
XT_TEST(nothing_is_left_after_the_end_although_a_fork_has_copies)
{
	struct xpoll *queue = xt_open_quiet();
	struct helper helper = helper_start();
	struct xt_pair pipe = xt_pipe();
	uint64_t stale = xt_stats(queue).stale_dropped;
	pid_t holder;

	XT_OK(watch(queue, helper.pid, 0));
	XT_EXPECT_EQ(fcntl(pipe.r, F_SETFL, 0), 0);
	(void)fflush(stdout);
	holder = fork();
	if (holder == 0) {
		char end;

		(void)close(pipe.w);
		_exit((int)read(pipe.r, &end, 1));
	}
	helper_exit(helper, 2);
	XT_CHECK(history_ends_with(queue, helper, HELPER_STATUS(2)));
	for (int i = 0; i < 8; i++)
		XT_NONE(queue);
	/* Only epoll's entry is one-shot; others may report the same end again, and drop it. */
	if (xt_is("epoll"))
		XT_EXPECT_EQ(xt_stats(queue).stale_dropped, stale);
	xt_close(pipe.w);
	XT_EQ(waitpid(holder, NULL, 0), holder);
}
#endif

XT_TEST(add_asks_for_exit_later)
{
	struct xpoll *queue = xt_open();
	struct helper first = helper_start();
	struct helper second = helper_start();
	int status;

	/* No note is requested, so the registration ends without an event. */
	XT_OK(xt_flag(queue, (uint64_t)first.pid, PROC, XPOLL_ADD));
	XT_OK(xt_flag(queue, (uint64_t)second.pid, PROC, XPOLL_ADD));
	XT_OK(watch(queue, second.pid, 0));
	helper_exit(first, 0);
	helper_await_end(first);
	XT_NONE(queue);
	helper_exit(second, 0);
	XT_CHECK(history_ends_with(queue, second, 0));
	/*
	 * Where another thread reports exits, the order is not defined, so the registration may
	 * still be there.
	 */
	status = xt_flag(queue, (uint64_t)first.pid, PROC, XPOLL_DELETE);
	XT_EXPECT(status == ENOENT || (HELPER_LINGERS && status == 0));
	(void)helper_wait(first);
}

/* S1: only ADD writes fflags. */
XT_TEST(enable_and_disable_with_notes_leave_those_of_the_registration)
{
	static const int flags[] = {XPOLL_DISABLE, XPOLL_ENABLE};
	struct xpoll *queue = xt_open();
	struct helper helper = helper_start();
	uint64_t pid = (uint64_t)helper.pid;
	struct xpoll_event now;

	XT_OK(watch(queue, helper.pid, 0));
	for (int i = 0; i < 2; i++) {
		XT_OK(xt_change(queue, pid, PROC, flags[i], FORK, 0, NULL));
		XT_EQ(xpoll_lookup(queue, pid, PROC, &now), 0);
		XT_EXPECT_EQ(now.fflags, EXIT);
	}
	helper_exit(helper, 0);
	XT_CHECK(history_ends_with(queue, helper, 0));
}

XT_TEST(several_queues_watch_one_process)
{
	struct xpoll *queues[4];
	struct helper helper = helper_start();
	struct xpoll_event event;

	for (int i = 0; i < 4; i++) {
		queues[i] = i ? xt_open_quiet() : xt_open();
		XT_OK(watch(queues[i], helper.pid, 0));
	}
	xt_destroy(queues[3]);
	helper_exit(helper, 5);
	for (int i = 0; i < 3; i++) {
		XT_GETS(queues[i], &event, helper.pid, PROC);
		XT_EXPECT_EQ(event.data, HELPER_STATUS(5));
		XT_NONE(queues[i]);
	}
	XT_EQ(helper_wait(helper), HELPER_STATUS(5));
}

/* S11: with room for one event, each of many exits is delivered. */
XT_TEST(many_exits_come_one_by_one)
{
	enum { COUNT = 70 }; /* on Windows a thread can wait for at most 64 handles */
	struct xpoll *queue = xt_open();
	struct helper parent = helper_start();
	struct helper child[COUNT];
	struct xpoll_event event;

	for (int i = 0; i < COUNT; i++) {
		child[i] = helper_fork(parent);
		XT_OK(watch(queue, child[i].pid, 0));
	}
	for (int i = 0; i < COUNT; i++)
		helper_exit(child[i], i);
	for (int i = 0; i < COUNT; i++) {
		int found = -1;

		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		for (int j = 0; j < COUNT; j++)
			if (child[j].pid == (pid_t)event.ident)
				found = j;
		XT_CHECK(found >= 0);
		XT_EXPECT_EQ(event.data, HELPER_STATUS(found));
		child[found].pid = 0;
	}
	XT_NONE(queue);
}

XT_TEST(destroy_with_registrations_leaves_the_processes_alone)
{
	struct xpoll *queue = xpoll_open(NULL);
	struct helper first = helper_start();
	struct helper second = helper_start();

	XT_CHECK(queue);
	XT_EXPECT_STATUS(watch(queue, first.pid, 0), 0);
	XT_EXPECT_STATUS(watch(queue, second.pid, 0), 0);
	helper_exit(first, 3);
	helper_await_end(first);
	xpoll_destroy(queue);
	XT_EXPECT_EQ(helper_wait(first), HELPER_STATUS(3));
	helper_exit(second, 4);
	XT_EXPECT_EQ(helper_wait(second), HELPER_STATUS(4));
}

/* The exit neither ends a wait of the poll-like level nor is consumed by it. */
XT_TEST(poll_like_level_leaves_it)
{
	struct xpoll *queue = xt_open_quiet();
	struct helper helper = helper_start();
	struct xt_pair pipe = xt_pipe();

	XT_OK(watch(queue, helper.pid, 0));
	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, pipe.r, NULL), 0);
	helper_exit(helper, 0);
	helper_await_end(helper);
	XT_EQ(xpoll_wait(queue, 0), 0);
	xt_put(pipe.w);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLIN);
	XT_EQ(xpoll_ctl(queue, XPOLL_DELETE, POLLIN, pipe.r, NULL), 0);
	XT_CHECK(history_ends_with(queue, helper, 0));
}

/* Windows lacks these limits, signals, forks and users. */
#ifndef _WIN32

XT_TEST(watched_processes_take_one_descriptor_each_and_give_it_back)
{
	struct xpoll *queue = xt_open_quiet();
	struct helper helpers[8];
	int before = 0;

	if (xt_dropin())
		XT_SKIP("a queue of the drop-in has several");
	for (int i = 0; i < 8; i++)
		helpers[i] = helper_start();
	before = xt_count_open();
	for (int i = 0; i < 8; i++)
		XT_OK(watch(queue, helpers[i].pid, 0));
	XT_EQ(xt_count_open(), before + 8);
	for (int i = 0; i < 4; i++)
		XT_OK(xt_flag(queue, (uint64_t)helpers[i].pid, PROC,
		              XPOLL_DELETE));
	XT_EQ(xt_count_open(), before + 4);
	for (int i = 4; i < 8; i++) {
		helper_exit(helpers[i], 0);
		XT_CHECK(history_ends_with(queue, helpers[i], 0));
	}
	XT_EQ(xt_count_open(), before);
}

XT_TEST(no_descriptor_is_emfile_and_nothing_changes)
{
	struct xpoll *queue = xt_open_quiet();
	struct helper helper = helper_start();
	struct rlimit limit;
	struct rlimit none;
	struct xpoll_event now;
	int status;

	XT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	XT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	status = watch(queue, helper.pid, 0);
	XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	XT_STATUS(status, EMFILE);
	XT_FAILS(xpoll_lookup(queue, (uint64_t)helper.pid, PROC, &now), ENOENT);
	XT_OK(watch(queue, helper.pid, 0));
	helper_exit(helper, 0);
	XT_CHECK(history_ends_with(queue, helper, 0));
}

/* S19: SIGCHLD belongs to the program: its handler still runs for each child. */
static atomic_int children_told;

static void on_child(int number)
{
	(void)number;
	atomic_fetch_add(&children_told, 1);
}

XT_TEST(sigchld_and_waitpid_stay_the_programs)
{
	struct xpoll *queue = xt_open_quiet();
	struct sigaction action = {.sa_handler = on_child};
	struct sigaction before;
	struct sigaction after;
	struct helper helper;
	struct xpoll_event event;
	sigset_t set;
	int count;

	helper_all_gone();
	atomic_store(&children_told, 0);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	XT_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
	XT_EQ(sigaction(SIGCHLD, &action, &before), 0);
	helper = helper_start();
	XT_OK(watch(queue, helper.pid, 0));
	XT_EXPECT_EQ(waitpid(-1, NULL, WNOHANG), 0);
	helper_exit(helper, 1);
	do
		count = xpoll_event(queue, NULL, 0, &event, 1, XT_SOON);
	while (count < 0 && errno == EINTR);
	XT_EXPECT_EQ(count, 1);
	xt_until(&children_told, 1);
	XT_EXPECT_EQ(waitpid(-1, NULL, 0), helper.pid);
	XT_EXPECT_FAILS(waitpid(-1, NULL, WNOHANG), ECHILD);
	XT_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	XT_EQ(sigaction(SIGCHLD, &before, &after), 0);
	XT_EXPECT(after.sa_handler == on_child);
	XT_EXPECT_EQ(atomic_load(&children_told), 1);
}

/* S26: PROC after fork */
struct family {
	struct xpoll *queue;
	struct helper helper;
};

static void child_destroys(void *argument)
{
	struct family *family = argument;

	XT_EXPECT_STATUS(watch(family->queue, family->helper.pid, 0), EBADF);
	xpoll_destroy(family->queue);
}

static void child_reinits(void *argument)
{
	struct family *family = argument;
	struct xpoll_event now;

	XT_EQ(xpoll_reinit(family->queue), 0);
	XT_FAILS(xpoll_lookup(family->queue, (uint64_t)family->helper.pid, PROC,
	                      &now), ENOENT);
	/* The process is no child of this one, but can be registered. */
	XT_OK(watch(family->queue, family->helper.pid, 0));
	helper_exit(family->helper, 8);
	XT_GETS(family->queue, &now, family->helper.pid, PROC);
	XT_EXPECT_EQ(now.fflags, EXIT);
	XT_EXPECT_EQ(now.data, HELPER_STATUS(8));
	xpoll_destroy(family->queue);
}

XT_TEST(forked_child_leaves_the_parents_registrations_alone)
{
	struct family family = {.queue = xt_open_quiet()};
	struct helper other = helper_start();

	family.helper = helper_start();
	XT_OK(watch(family.queue, family.helper.pid, 0));
	XT_OK(watch(family.queue, other.pid, 0));
	XT_CHECK(xt_child(child_destroys, &family));
	XT_NONE(family.queue);
	XT_CHECK(xt_child(child_reinits, &family));
	XT_CHECK(history_ends_with(family.queue, family.helper, HELPER_STATUS(8)));
	helper_exit(other, 0);
	XT_CHECK(history_ends_with(family.queue, other, 0));
}

/* A process of another user can be watched if it is visible. */
static void watch_as_another_user(void *argument)
{
	struct helper *helper = argument;
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;

	XT_EQ(setuid(65534), 0);
	XT_FAILS(kill(helper->pid, 0), EPERM);
	XT_OK(watch(queue, helper->pid, 0));
	helper_exit(*helper, 3);
	XT_GETS(queue, &event, helper->pid, PROC);
	XT_EXPECT_EQ(event.fflags & ~UNKNOWN, EXIT);
	XT_EXPECT_EQ(event.data, event.fflags & UNKNOWN ? 0 : HELPER_STATUS(3));
}

XT_TEST(process_of_another_user_can_be_watched)
{
	struct helper helper;

	if (geteuid() != 0)
		XT_SKIP("only root can start a process of another user");
	helper = helper_start();
	XT_CHECK(xt_child(watch_as_another_user, &helper));
	XT_EQ(helper_wait(helper), HELPER_STATUS(3));
}

#endif
