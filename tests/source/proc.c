/*
 * Goal: PROC reports the exit of a process once, with its wait status, for
 * every process that is visible; it never reaps, and changes nothing in the
 * program (S22, S19).
 * Method: helpers that exit in each way; waitpid(2), called after the event, is
 * the oracle, and shows that the library has not reaped the process.
 */
#include "history.h"

#include <sys/wait.h>

static int watch(struct xpoll *queue, pid_t pid, int flags)
{
	return xt_change(queue, (uint64_t)pid, PROC, XPOLL_ADD | flags, EXIT, 0,
	                 NULL);
}

/* Register a process that has exited, on some systems only after the system has released it. */
static int watch_gone(struct xpoll *queue, pid_t pid)
{
	int64_t deadline = xt_now() + XT_SOON;
	int status = watch(queue, pid, 0);

	while (status == 0 && HELPER_LINGERS && xt_now() < deadline) {
		(void)xt_flag(queue, (uint64_t)pid, PROC, XPOLL_DELETE);
		status = watch(queue, pid, 0);
	}
	return status;
}

/* Returns true if this kernel keeps the status of a process that was reaped. */
static bool status_outlives(void)
{
	struct xpoll *queue = xt_open_quiet();
	struct helper helper = helper_start();
	struct xpoll_event event = {0};

	XT_EXPECT_STATUS(watch(queue, helper.pid, 0), 0);
	helper_exit(helper, 3);
	(void)helper_wait(helper);
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	xt_destroy(queue);
	return !(event.fflags & UNKNOWN);
}

XT_TEST(exit_of_a_child_gives_its_wait_status)
{
	static const int codes[] = {0, 1, 3, 127, 255};
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 5; i++) {
		struct helper helper = helper_start();

		XT_OK(watch(queue, helper.pid, 0));
		XT_NONE(queue);
		helper_exit(helper, codes[i]);
		XT_CHECK(history_ends_with(queue, helper, HELPER_STATUS(codes[i])));
		XT_NONE(queue);
	}
}

XT_TEST(exit_by_a_signal_gives_the_signal)
{
	static const int signals[] = {SIGKILL, SIGTERM, SIGHUP, SIGUSR1};
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 4; i++) {
		struct helper helper = helper_start();

		XT_OK(watch(queue, helper.pid, 0));
		helper_kill(helper, signals[i]);
		XT_CHECK(history_ends_with(queue, helper, signals[i]));
	}
}

XT_TEST(exit_ends_the_registration)
{
	struct xpoll *queue = xt_open();
	struct helper helper = helper_start();
	uint64_t ident = (uint64_t)helper.pid;
	struct xpoll_event now;

	XT_OK(watch(queue, helper.pid, 0));
	XT_EQ(xpoll_lookup(queue, ident, PROC, &now), 0);
	XT_EXPECT_EQ(now.fflags, EXIT);
	XT_EXPECT_EQ(now.flags, XPOLL_CLEAR);
	helper_exit(helper, 1);
	XT_CHECK(history_ends_with(queue, helper, HELPER_STATUS(1)));
	XT_FAILS(xpoll_lookup(queue, ident, PROC, &now), ENOENT);
	XT_STATUS(xt_flag(queue, ident, PROC, XPOLL_DELETE), ENOENT);
	XT_STATUS(watch_gone(queue, helper.pid), ESRCH);
}

XT_TEST(udata_comes_back)
{
	struct xpoll *queue = xt_open();
	struct helper helper = helper_start();
	uint64_t ident = (uint64_t)helper.pid;
	struct xpoll_event event;

	XT_OK(xt_change(queue, ident, PROC, XPOLL_ADD, EXIT, 0, queue));
	XT_OK(xt_change(queue, ident, PROC, XPOLL_ADD | XPOLL_KEEPUDATA, EXIT, 0,
	                NULL));
	helper_exit(helper, 0);
	XT_GETS(queue, &event, ident, PROC);
	XT_EXPECT(event.udata == queue);
	(void)helper_wait(helper);
}

XT_TEST(exit_ends_a_wait_that_is_under_way)
{
	struct xt_sleeper waiter = {.queue = xt_open_quiet(), .timeout_ns = XT_SOON};
	struct helper helper = helper_start();
	struct xt_thread *thread;

	XT_OK(watch(waiter.queue, helper.pid, 0));
	thread = xt_start(xt_sleep, &waiter);
	xt_asleep(thread);
	helper_exit(helper, 9);
	xt_join(thread);
	XT_EQ(waiter.rc, 1);
	XT_EXPECT_EQ(waiter.event.data, HELPER_STATUS(9));
	XT_EXPECT_EQ(helper_wait(helper), HELPER_STATUS(9));
}

/* Registered while another thread sleeps. */
XT_TEST(add_during_a_wait_takes_effect)
{
	struct xt_sleeper waiter = {.queue = xt_open_quiet(), .timeout_ns = XT_SOON};
	struct helper helper = helper_start();
	struct xt_thread *thread = xt_start(xt_sleep, &waiter);

	xt_asleep(thread);
	XT_OK(watch(waiter.queue, helper.pid, 0));
	helper_exit(helper, 0);
	xt_join(thread);
	XT_EQ(waiter.rc, 1);
	XT_EXPECT_EQ(waiter.event.ident, (uint64_t)helper.pid);
	(void)helper_wait(helper);
}

/*
 * S4: a program forks, and the child may exit before it is registered.
 * Complaint: The end of a child is missed, or somebody else reaps it.
 */
XT_TEST(zombie_is_delivered_at_once)
{
	struct xpoll *queue = xt_open();
	struct helper helper = helper_start();

	helper_exit(helper, 4);
	helper_await_end(helper);
	XT_OK(watch(queue, helper.pid, 0));
	XT_CHECK(history_ends_with(queue, helper, HELPER_STATUS(4)));
}

XT_TEST(no_such_process_is_esrch)
{
	struct xpoll *queue = xt_open();
	struct helper helper = helper_start();

	helper_exit(helper, 0);
	(void)helper_wait(helper);
	XT_STATUS(watch_gone(queue, helper.pid), ESRCH);
	XT_STATUS(watch(queue, 0, 0), ESRCH);
	XT_STATUS(watch(queue, -1, 0), ESRCH);
	XT_STATUS(xt_change(queue, UINT64_C(1) << 32 | 1, PROC, XPOLL_ADD, EXIT,
	                    0, NULL), ESRCH);
	XT_STATUS(xt_flag(queue, (uint64_t)helper.pid, PROC, XPOLL_ENABLE),
	          ENOENT);
}

static void tell_number(void *argument)
{
	atomic_int *numbers = argument;

	atomic_store(&numbers[0], xt_thread_number());
	xt_until(&numbers[1], 1);
}

XT_TEST(thread_number_is_esrch)
{
	struct xpoll *queue = xt_open();
	atomic_int numbers[2] = {0, 0};
	struct xt_thread *thread;

	if (xt_thread_number() == 0)
		XT_SKIP("threads have no numbers here");
	thread = xt_start(tell_number, numbers);
	xt_until(&numbers[0], 1);
	XT_EXPECT_STATUS(watch(queue, atomic_load(&numbers[0]), 0), ESRCH);
	atomic_store(&numbers[1], 1);
	xt_join(thread);
}

XT_TEST(notes_that_only_come_out_are_einval)
{
	static const uint32_t notes[] = {
	    XPOLL_NOTE_TRACKERR, XPOLL_NOTE_CHILD, XPOLL_NOTE_STATUS_UNKNOWN,
	    0x10};
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 4; i++)
		XT_STATUS(xt_change(queue, (uint64_t)getpid(), PROC, XPOLL_ADD,
		                    EXIT | notes[i], 0, NULL), EINVAL);
}

XT_TEST(supports_tells_of_exit)
{
	struct xpoll *queue = xt_open();

	XT_EQ(xpoll_supports(queue, PROC, EXIT), 1);
	XT_EQ(xpoll_supports(queue, PROC, 0), 1);
	XT_EQ(xpoll_supports(queue, PROC, EXIT | XPOLL_NOTE_CHILD), 0);
}

/* Notes that only a tracer reports are refused, and nothing is registered. */
XT_TEST(without_a_tracer_fork_is_enotsup)
{
	struct xpoll *queue = xt_open();
	struct helper helper = helper_start();
	uint64_t ident = (uint64_t)helper.pid;
	struct xpoll_event now;

	XT_EQ(setenv("XPOLL_PROC", "pidfd", 1), 0);
	XT_EXPECT_EQ(xpoll_supports(queue, PROC, XPOLL_NOTE_FORK), 0);
	XT_EXPECT_EQ(xpoll_supports(queue, PROC, EXIT), 1);
	XT_EXPECT_STATUS(xt_change(queue, ident, PROC, XPOLL_ADD,
	                           EXIT | XPOLL_NOTE_FORK, 0, NULL), ENOTSUP);
	XT_EXPECT_FAILS(xpoll_lookup(queue, ident, PROC, &now), ENOENT);
	XT_EXPECT_STATUS(watch(queue, helper.pid, 0), 0);
	XT_EXPECT_STATUS(xt_change(queue, ident, PROC, XPOLL_ADD,
	                           EXIT | XPOLL_NOTE_EXEC, 0, NULL), ENOTSUP);
	XT_EXPECT_EQ(xpoll_lookup(queue, ident, PROC, &now), 0);
	XT_EXPECT_EQ(now.fflags, EXIT);
	XT_EQ(unsetenv("XPOLL_PROC"), 0);
	helper_exit(helper, 0);
	XT_CHECK(history_ends_with(queue, helper, 0));
}

/* S22: exits of processes that are not children are reported, as far as the kernel does that. */
XT_TEST(zombie_of_another_process_gives_its_status)
{
	struct xpoll *queue = xt_open();
	struct helper parent = helper_start();
	struct helper child = helper_fork(parent);
	struct xpoll_event event;

	XT_OK(watch(queue, child.pid, 0));
	XT_NONE(queue);
	helper_exit(child, 42);
	XT_GETS(queue, &event, child.pid, PROC);
	XT_EXPECT_EQ(event.fflags, EXIT);
	XT_EXPECT_EQ(event.data, HELPER_STATUS(42));
	XT_EXPECT_EQ(helper_reap(parent, child.pid), HELPER_STATUS(42));
	/* Status 0 of another's child must not be taken for an unknown status. */
	child = helper_fork(parent);
	XT_OK(watch(queue, child.pid, 0));
	helper_exit(child, 0);
	XT_GETS(queue, &event, child.pid, PROC);
	XT_EXPECT_EQ(event.fflags, EXIT);
	XT_EXPECT_EQ(event.data, 0);
}

XT_TEST(reaped_by_its_parent_gives_its_status_or_says_unknown)
{
	bool outlives = status_outlives();
	struct xpoll *queue = xt_open();
	struct helper parent = helper_start();
	struct helper child = helper_fork(parent);
	struct xpoll_event event;

	XT_OK(watch(queue, child.pid, XPOLL_DISABLE));
	helper_kill(child, SIGTERM);
	XT_EXPECT_EQ(helper_reap(parent, child.pid), SIGTERM);
	XT_OK(xt_flag(queue, (uint64_t)child.pid, PROC, XPOLL_ENABLE));
	XT_GETS(queue, &event, child.pid, PROC);
	if (outlives || !(event.fflags & UNKNOWN))
		XT_EXPECT_EQ(event.data, SIGTERM);
	else
		XT_EXPECT_EQ(event.data, 0);
	XT_EXPECT_EQ(event.fflags & ~UNKNOWN, EXIT);
}

/*
 * The program reaps the process before the library reads its status, by waitpid(-1) or by ignoring
 * SIGCHLD.
 * Complaint: The end of a child is missed, or somebody else reaps it.
 */
XT_TEST(reaped_by_the_program_is_still_delivered)
{
	bool outlives = status_outlives();
	struct xpoll *queue = xt_open();
	struct helper helper;
	struct xpoll_event event;

	helper_all_gone();
	helper = helper_start();
	XT_OK(watch(queue, helper.pid, 0));
	helper_exit(helper, 6);
	XT_EQ(waitpid(-1, NULL, 0), helper.pid);
	XT_GETS(queue, &event, helper.pid, PROC);
	XT_EXPECT(event.fflags & EXIT);
	if (outlives)
		XT_EXPECT_EQ(event.data, HELPER_STATUS(6));
	XT_NONE(queue);
}

XT_TEST(child_of_one_that_ignores_sigchld_is_delivered)
{
	struct xpoll *queue = xt_open();
	struct helper parent = helper_start();
	struct helper child;
	struct xpoll_event event;

	XT_CALL(helper_ignores_children(parent));
	child = helper_fork(parent);
	XT_OK(watch(queue, child.pid, 0));
	helper_exit(child, 1);
	XT_GETS(queue, &event, child.pid, PROC);
	XT_EXPECT_EQ(event.fflags & ~UNKNOWN, EXIT);
	XT_EXPECT_EQ(event.data, event.fflags & UNKNOWN ? 0 : HELPER_STATUS(1));
}

/* The first thread exits, but the process continues, so no exit is reported. */
XT_TEST(end_of_the_first_thread_is_no_exit)
{
	struct xpoll *queue = xt_open();
	struct helper helper = helper_start();

	XT_OK(watch(queue, helper.pid, 0));
	XT_CALL(helper_leader_ends(helper));
	XT_NONE(queue);
	helper_exit(helper, 7);
	XT_CHECK(history_ends_with(queue, helper, HELPER_STATUS(7)));
}

XT_TEST(exec_by_another_thread_is_no_exit)
{
	struct xpoll *queue = xt_open();
	struct helper helper = helper_start();

	XT_OK(watch(queue, helper.pid, 0));
	XT_CALL(helper_exec_by_thread(helper));
	XT_NONE(queue);
	helper_exit(helper, 7);
	XT_CHECK(history_ends_with(queue, helper, HELPER_STATUS(7)));
}
