/*
 * Goal: a process with a reused ID is never taken for the process that had the
 * ID before, whenever the library detects the reuse (S1, S22).
 * Method: as root, the test starts processes with the ID of one that was
 * reaped.
 */
#include "history.h"

#include <sched.h>

#define REUSE_OR_SKIP()                                                     \
	do {                                                                \
		if (access("/proc/sys/kernel/ns_last_pid", W_OK) < 0 ||     \
		    geteuid() != 0)                                         \
			XT_SKIP("only root can choose a process's number"); \
	} while (0)

/* Have the old process exit, reap it, and start another child of the test with the same ID. */
static bool replace(struct helper old, int status, struct helper *fresh)
{
	helper_exit(old, status);
	if (!XT_EXPECT_EQ(helper_wait(old), status << 8))
		return false;
	*fresh = helper_start_as(old.pid);
	return XT_EXPECT_EQ(fresh->pid, old.pid);
}

/*
 * Check that the event is the old process's exit; the status may be unknown where PIDFD_GET_INFO is
 * missing.
 */
static bool told_is(const struct xpoll_event *event, int status)
{
	XT_EXPECT_EQ(event->fflags & ~UNKNOWN, EXIT);
	return XT_EXPECT_EQ(event->data,
	                    event->fflags & UNKNOWN ? 0 : status << 8);
}

XT_TEST(exit_is_that_of_the_process_that_was_registered)
{
	struct helper fresh;
	struct xpoll_event event;

	REUSE_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper old = history_helper(queue, EXIT);
	XT_CHECK(replace(old, 3, &fresh));
	XT_GETS(queue, &event, old.pid, PROC);
	XT_CHECK(told_is(&event, 3));
	/* The new process is not registered, so its exit delivers nothing. */
	helper_exit(fresh, 4);
	helper_await_end(fresh);
	XT_NONE(queue);
	XT_EQ(helper_wait(fresh), 4 << 8);
}

/* S1: ADD registers the process that has the ID now. */
XT_TEST(add_begins_anew_for_the_process_that_has_the_number_now)
{
	struct helper fresh;
	struct xpoll_event event;

	REUSE_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper old = helper_start();
	XT_OK(xt_change(queue, (uint64_t)old.pid, PROC,
	                XPOLL_ADD | XPOLL_DISPATCH | XPOLL_DISABLE, EXIT, 0,
	                &old));
	XT_CHECK(replace(old, 3, &fresh));
	/* The queue has recorded the exit, but not delivered it. */
	XT_NONE(queue);
	XT_OK(xt_change(queue, (uint64_t)old.pid, PROC, XPOLL_ADD, EXIT, 0,
	                &fresh));
	XT_NONE(queue);
	XT_EQ(xpoll_lookup(queue, (uint64_t)old.pid, PROC, &event), 0);
	XT_EXPECT_EQ(event.flags, XPOLL_CLEAR);
	helper_exit(fresh, 4);
	XT_GETS(queue, &event, fresh.pid, PROC);
	XT_EXPECT_EQ(event.fflags, EXIT);
	XT_EXPECT_EQ(event.data, 4 << 8);
	XT_EXPECT(event.udata == &fresh);
	XT_NONE(queue);
	(void)helper_wait(fresh);
}

/* The same without a wait before the ADD, so that the library has not noticed the exit. */
XT_TEST(add_before_any_wait_begins_anew)
{
	struct helper fresh;
	struct xpoll_event event;

	REUSE_OR_SKIP();
	struct xpoll *queue = xt_open_quiet();
	struct helper old = history_helper(queue, EXIT);
	XT_CHECK(replace(old, 3, &fresh));
	XT_OK(xt_change(queue, (uint64_t)fresh.pid, PROC, XPOLL_ADD, EXIT, 0,
	                &fresh));
	XT_NONE(queue);
	helper_exit(fresh, 4);
	XT_GETS(queue, &event, fresh.pid, PROC);
	XT_EXPECT_EQ(event.fflags, EXIT);
	XT_EXPECT_EQ(event.data, 4 << 8);
	XT_EXPECT(event.udata == &fresh);
	XT_NONE(queue);
	(void)helper_wait(fresh);
}

/*
 * A tracked child gets the ID of a registered process that was reaped.  The child must not be taken
 * for that process.  Both cannot be registered, so the child's parent reports TRACKERR.
 */
XT_TEST(tracked_child_is_not_taken_for_who_had_its_number)
{
	struct helper fresh;
	struct xpoll_event event;
	uint32_t notes = 0;
	bool ended = false;

	REUSE_OR_SKIP();
	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open_quiet();
	struct helper old = history_helper(queue, EXIT);
	XT_OK(history_watch(queue, getpid(), FORK | TRACK));
	XT_CHECK(replace(old, 3, &fresh));
	/* Children that got another process's ID meanwhile have events, too. */
	while (!ended || !(notes & TRACKERR)) {
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		if (event.ident == (uint64_t)old.pid) {
			XT_EXPECT(told_is(&event, 3));
			ended = true;
		} else if (event.ident == (uint64_t)getpid()) {
			notes |= event.fflags;
		}
	}
	XT_EXPECT_EQ(notes, FORK | TRACKERR);
	helper_exit(fresh, 4);
	(void)helper_wait(fresh);
}

/* The process is a zombie: an ADD that only changes the notes keeps its exit event. */
XT_TEST(add_of_a_zombie_keeps_what_was_noted)
{
	struct xpoll *queue = xt_open();
	struct helper helper = helper_start();

	XT_OK(xt_change(queue, (uint64_t)helper.pid, PROC,
	                XPOLL_ADD | XPOLL_DISABLE, EXIT, 0, NULL));
	helper_exit(helper, 3);
	helper_await_end(helper);
	XT_NONE(queue);
	XT_OK(xt_change(queue, (uint64_t)helper.pid, PROC,
	                XPOLL_ADD | XPOLL_ENABLE, EXIT, 0, NULL));
	XT_CHECK(history_ends_with(queue, helper, 3 << 8));
	XT_NONE(queue);
}

/* Wait until the clock of processes' start times has advanced by this number of ticks. */
static void await_hundredths(int count)
{
	int64_t end = xt_now() + count * INT64_C(10000000);

	while (xt_now() < end)
		(void)sched_yield();
}

/* Events of the new process are not delivered for the old one. */
XT_TEST(forks_of_the_new_process_are_not_told_of_the_old_one)
{
	struct helper fresh;
	struct history history = {0};

	REUSE_OR_SKIP();
	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open_quiet();
	struct helper old = history_helper(queue, ALL);
	XT_CHECK(replace(old, 3, &fresh));
	(void)helper_fork(fresh);
	XT_CALL(helper_exec(fresh));
	XT_CHECK(history_until(queue, &history, old.pid, EXIT));
	history_hear(queue, &history);
	XT_EXPECT_EQ(history_of(&history, old.pid)->notes & ~UNKNOWN, EXIT);
	XT_EXPECT_EQ(history.len, 1);
	free(history.told);
	(void)fresh;
}

/*
 * A tracked child has exited, and its ID is reused before the library opens a descriptor for it:
 * the descriptor refers to the new process.
 */
XT_TEST(tracked_child_whose_number_is_anothers_by_now_is_told)
{
	struct helper child;
	struct helper fresh;
	struct history history = {0};
	struct xpoll_event now;

	REUSE_OR_SKIP();
	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open_quiet();
	struct helper parent = history_helper(queue, ALL);
	child = helper_fork(parent);
	helper_exit(child, 5);
	XT_EQ(helper_reap(parent, child.pid), 5 << 8);
	/*
	 * perf compares start times, which have a resolution of 10 ms; IDs are not normally reused
	 * that soon.
	 */
	await_hundredths(2);
	fresh = helper_start_as(child.pid);
	XT_EQ(fresh.pid, child.pid);
	(void)helper_fork(fresh);
	XT_CHECK(history_until(queue, &history, child.pid, CHILD | EXIT));
	history_hear(queue, &history);
	XT_EXPECT_EQ(history_of(&history, child.pid)->notes & ~UNKNOWN,
	             CHILD | EXIT);
	XT_EXPECT_EQ(history_of(&history, child.pid)->parent, parent.pid);
	XT_EXPECT_EQ(history_of(&history, child.pid)->status,
	             history_by_connector() ? 5 << 8 : 0);
	XT_EXPECT_EQ(history_of(&history, parent.pid)->notes, FORK);
	XT_EXPECT_EQ(history.len, 2);
	XT_FAILS(xpoll_lookup(queue, (uint64_t)child.pid, PROC, &now), ENOENT);
	free(history.told);
	helper_exit(fresh, 0);
	(void)helper_wait(fresh);
}
