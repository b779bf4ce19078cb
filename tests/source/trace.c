/*
 * Goal: NOTE_FORK and NOTE_EXEC report what one process does, by whichever
 * thread, and nothing else (S22, hazard 15).
 * Method: helpers that fork and exec when the test orders it.
 */
#include "history.h"

#include <sys/resource.h>

/* Check that no event follows. */
static void is_silent(struct xpoll *queue)
{
	XT_NONE(queue);
}

/* Check that exactly these notes come, in one event. */
static bool notes_are(struct xpoll *queue, struct helper helper, uint32_t notes)
{
	struct xpoll_event event;

	if (!xt_gets(__FILE__, __LINE__, queue, &event, (uint64_t)helper.pid,
	             PROC))
		return false;
	XT_EXPECT_EQ(event.fflags, notes);
	if (!(notes & EXIT))
		XT_EXPECT_EQ(event.data, 0);
	XT_EXPECT_EQ(event.flags, notes & EXIT ? XPOLL_EOF : 0);
	is_silent(queue);
	return xt_failures() == 0;
}

XT_TEST(fork_is_reported_once_each)
{
	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper helper = history_helper(queue, FORK);
	XT_CALL(is_silent(queue));
	for (int i = 0; i < 3; i++) {
		(void)helper_fork(helper);
		XT_CHECK(notes_are(queue, helper, FORK));
	}
}

XT_TEST(several_forks_before_a_delivery_are_one_event)
{
	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper helper = history_helper(queue, FORK | EXIT);
	for (int i = 0; i < 3; i++)
		(void)helper_fork(helper);
	XT_CHECK(notes_are(queue, helper, FORK));
}

XT_TEST(fork_before_add_is_not_reported)
{
	struct helper other;

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper helper = helper_start();
	other = helper_start();
	(void)helper_fork(helper);
	XT_OK(history_watch(queue, helper.pid, FORK));
	/*
	 * The tracer exists already, and gets a report of this fork, which was before the
	 * registration.
	 */
	(void)helper_fork(other);
	XT_OK(history_watch(queue, other.pid, FORK));
	XT_CALL(is_silent(queue));
	(void)helper_fork(other);
	XT_CHECK(notes_are(queue, other, FORK));
}

XT_TEST(fork_by_a_new_thread_is_reported)
{
	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper helper = history_helper(queue, FORK | EXEC);
	(void)helper_fork_by_thread(helper);
	XT_CHECK(notes_are(queue, helper, FORK));
}

/* Hazard 15: a tracer that attaches to a process ID misses what other threads of the process do. */
XT_TEST(hazard_15_fork_by_a_thread_from_before_add_is_reported)
{
	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper helper = helper_start();
	XT_CALL(helper_thread_obeys(helper));
	XT_OK(history_watch(queue, helper.pid, FORK | EXEC));
	(void)helper_fork(helper);
	XT_CHECK(notes_are(queue, helper, FORK));
	(void)helper_fork_by_thread(helper);
	XT_CHECK(notes_are(queue, helper, FORK));
}

XT_TEST(fork_after_the_first_thread_has_ended_is_reported)
{
	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper helper = history_helper(queue, FORK | EXIT);
	XT_CALL(helper_leader_ends(helper));
	(void)helper_fork(helper);
	XT_CHECK(notes_are(queue, helper, FORK));
	helper_exit(helper, 1);
	XT_CHECK(notes_are(queue, helper, EXIT));
	XT_EQ(helper_wait(helper), 1 << 8);
}

XT_TEST(add_after_the_first_thread_has_ended_works)
{
	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper helper = helper_start();
	XT_CALL(helper_leader_ends(helper));
	XT_OK(history_watch(queue, helper.pid, FORK | EXIT));
	(void)helper_fork(helper);
	XT_CHECK(notes_are(queue, helper, FORK));
}

XT_TEST(hazard_15_new_thread_is_no_fork)
{
	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper helper = history_helper(queue, ALL);
	for (int i = 0; i < 5; i++)
		helper_thread(helper);
	XT_CALL(is_silent(queue));
	(void)helper_fork(helper);
	XT_OK(xt_flag(queue, (uint64_t)helper.pid, PROC, XPOLL_DELETE));
}

XT_TEST(vfork_is_a_fork)
{
	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper helper = history_helper(queue, FORK);
	XT_CHECK(helper_vfork(helper) > 0);
	XT_CHECK(notes_are(queue, helper, FORK));
}

/* Complaint: Forks and execs cannot be followed on Linux. */
XT_TEST(exec_is_reported)
{
	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper helper = history_helper(queue, EXEC | FORK);
	for (int i = 0; i < 3; i++) {
		XT_CALL(helper_exec(helper));
		XT_CHECK(notes_are(queue, helper, EXEC));
	}
}

XT_TEST(exec_by_another_thread_is_reported_and_tracing_goes_on)
{
	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper helper = history_helper(queue, EXEC | FORK | EXIT);
	XT_CALL(helper_exec_by_thread(helper));
	XT_CHECK(notes_are(queue, helper, EXEC));
	(void)helper_fork(helper);
	XT_CHECK(notes_are(queue, helper, FORK));
	XT_CALL(helper_exec(helper));
	XT_CHECK(notes_are(queue, helper, EXEC));
	helper_exit(helper, 0);
	XT_CHECK(notes_are(queue, helper, EXIT));
}

XT_TEST(exec_that_fails_is_none)
{
	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper helper = history_helper(queue, EXEC | FORK | EXIT);
	XT_CALL(helper_exec_fails(helper));
	XT_CALL(is_silent(queue));
}

/* Returns true if the end of the process was delivered completely, and these notes before. */
static bool history_is(struct xpoll *queue, struct helper helper, uint32_t notes)
{
	struct history history = {0};

	(void)history_until(queue, &history, helper.pid, EXIT);
	XT_EXPECT_EQ(history_of(&history, helper.pid)->notes, notes | EXIT);
	XT_EXPECT_EQ(history.len, 1);
	free(history.told);
	is_silent(queue);
	return xt_failures() == 0;
}

/* The last actions of a process are reported before its end, or with it. */
XT_TEST(fork_exec_and_exit_before_a_delivery_come_in_order)
{
	struct xpoll *queue;
	struct helper helper;

	HISTORY_OR_SKIP();
	for (int i = 0; i < 10; i++) {
		queue = xt_open();
		helper = helper_start();
		XT_OK(history_watch(queue, helper.pid, EXEC | FORK | EXIT));
		(void)helper_fork(helper);
		XT_CALL(helper_exec(helper));
		helper_exit(helper, 3);
		helper_await_end(helper);
		XT_CHECK(history_is(queue, helper, EXEC | FORK));
		XT_EQ(helper_wait(helper), 3 << 8);
		xt_destroy(queue);
	}
}

XT_TEST(end_of_one_whose_end_is_not_asked_for_closes_its_last_event)
{
	struct xpoll_event event;

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper helper = history_helper(queue, FORK);
	(void)helper_fork(helper);
	helper_exit(helper, 3);
	helper_await_end(helper);
	XT_GETS(queue, &event, helper.pid, PROC);
	XT_EXPECT_EQ(event.fflags, FORK);
	XT_STATUS(xt_flag(queue, (uint64_t)helper.pid, PROC, XPOLL_DELETE),
	          ENOENT);
	(void)helper_wait(helper);
}

XT_TEST(children_are_not_registered_without_track)
{
	struct helper child;
	struct xpoll_event now;

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper helper = history_helper(queue, FORK | EXEC | EXIT);
	child = helper_fork(helper);
	XT_CHECK(notes_are(queue, helper, FORK));
	XT_FAILS(xpoll_lookup(queue, (uint64_t)child.pid, PROC, &now), ENOENT);
	XT_CALL(helper_exec(child));
	(void)helper_fork(child);
	helper_exit(child, 0);
	XT_CALL(is_silent(queue));
}

XT_TEST(only_what_is_asked_for_is_reported)
{
	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper helper = history_helper(queue, EXEC);
	(void)helper_fork(helper);
	XT_CALL(is_silent(queue));
	XT_OK(history_watch(queue, helper.pid, EXIT));
	(void)helper_fork(helper);
	XT_CALL(helper_exec(helper));
	XT_CALL(is_silent(queue));
	XT_OK(history_watch(queue, helper.pid, FORK | EXIT));
	(void)helper_fork(helper);
	XT_CHECK(notes_are(queue, helper, FORK));
	XT_CALL(helper_exec(helper));
	XT_CALL(is_silent(queue));
	helper_exit(helper, 0);
	XT_CHECK(notes_are(queue, helper, EXIT));
}

/* S3, S10: events wait while the registration is disabled. */
XT_TEST(disabled_and_dispatched_forks_wait)
{
	uint64_t ident;

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper helper = helper_start();
	ident = (uint64_t)helper.pid;
	XT_OK(xt_change(queue, ident, PROC, XPOLL_ADD | XPOLL_DISPATCH,
	                FORK | EXEC, 0, NULL));
	(void)helper_fork(helper);
	XT_CHECK(notes_are(queue, helper, FORK));
	(void)helper_fork(helper);
	XT_CALL(helper_exec(helper));
	XT_CALL(is_silent(queue));
	XT_OK(xt_flag(queue, ident, PROC, XPOLL_ENABLE));
	XT_CHECK(notes_are(queue, helper, FORK | EXEC));
	XT_OK(xt_flag(queue, ident, PROC, XPOLL_DISABLE));
	(void)helper_fork(helper);
	XT_CALL(is_silent(queue));
	XT_OK(xt_flag(queue, ident, PROC, XPOLL_DELETE));
	XT_CALL(is_silent(queue));
}

XT_TEST(oneshot_is_delivered_and_gone)
{
	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper helper = helper_start();
	XT_OK(xt_change(queue, (uint64_t)helper.pid, PROC,
	                XPOLL_ADD | XPOLL_ONESHOT, FORK | EXIT, 0, NULL));
	(void)helper_fork(helper);
	XT_CHECK(notes_are(queue, helper, FORK));
	(void)helper_fork(helper);
	helper_exit(helper, 0);
	helper_await_end(helper);
	XT_CALL(is_silent(queue));
	(void)helper_wait(helper);
}

XT_TEST(several_queues_trace_one_process)
{
	struct xpoll *queues[3];
	struct helper helper;

	HISTORY_OR_SKIP();
	helper = helper_start();
	for (int i = 0; i < 3; i++) {
		queues[i] = xt_open_quiet();
		XT_OK(history_watch(queues[i], helper.pid, FORK | EXIT));
	}
	(void)helper_fork(helper);
	XT_CHECK(notes_are(queues[0], helper, FORK));
	xt_destroy(queues[0]);
	XT_CHECK(notes_are(queues[1], helper, FORK));
	XT_OK(xt_flag(queues[1], (uint64_t)helper.pid, PROC, XPOLL_DELETE));
	(void)helper_fork(helper);
	helper_exit(helper, 0);
	helper_await_end(helper);
	XT_CHECK(history_is(queues[2], helper, FORK));
	XT_CALL(is_silent(queues[1]));
	(void)helper_wait(helper);
}

/*
 * The tracer's kernel objects exist only while they are needed, and are created again for the next
 * process.
 */
XT_TEST(tracer_is_there_only_while_it_is_needed)
{
	int before;

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open_quiet();
	struct helper helper = history_helper(queue, EXIT);
	before = xt_count_open();
	for (int i = 0; i < 3; i++) {
		XT_OK(history_watch(queue, helper.pid, EXIT | FORK));
		XT_CHECK(xt_count_open() > before);
		(void)helper_fork(helper);
		XT_CHECK(notes_are(queue, helper, FORK));
		XT_OK(history_watch(queue, helper.pid, EXIT));
		/* Each helper adds one socket to the open descriptors. */
		XT_EQ(xt_count_open(), ++before);
	}
}

XT_TEST(no_descriptor_is_emfile_and_nothing_changes)
{
	struct rlimit limit;
	struct rlimit tight;
	struct xpoll_event now;
	int before;
	int status = 0;

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open_quiet();
	struct helper helper = helper_start();
	XT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	before = xt_count_open();
	/* Allow one more descriptor in each round, until they suffice. */
	for (int i = 0; i < 100; i++) {
		int highest = dup(0);

		XT_CHECK(highest >= 0);
		xt_close(highest);
		tight = limit;
		tight.rlim_cur = (rlim_t)(highest + i);
		XT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
		status = history_watch(queue, helper.pid, FORK | EXIT);
		XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
		if (status == 0)
			break;
		XT_STATUS(status, EMFILE);
		XT_EQ(xt_count_open(), before);
		XT_FAILS(xpoll_lookup(queue, (uint64_t)helper.pid, PROC, &now),
		         ENOENT);
	}
	XT_STATUS(status, 0);
	(void)helper_fork(helper);
	XT_CHECK(notes_are(queue, helper, FORK));
}

/* S26: tracing after fork */
static void child_reinits(void *argument)
{
	struct xpoll *queue = ((void **)argument)[0];
	struct helper *helper = ((void **)argument)[1];

	XT_EQ(xpoll_reinit(queue), 0);
	XT_OK(history_watch(queue, helper->pid, FORK));
	(void)helper_fork(*helper);
	XT_CHECK(notes_are(queue, *helper, FORK));
	xpoll_destroy(queue);
}

static void child_destroys(void *argument)
{
	xpoll_destroy(((void **)argument)[0]);
}

XT_TEST(forked_child_leaves_the_parents_tracer_alone)
{
	struct helper helper;
	void *both[2];

	HISTORY_OR_SKIP();
	both[0] = xt_open_quiet();
	both[1] = &helper;
	helper = helper_start();
	XT_OK(history_watch(both[0], helper.pid, FORK | EXIT));
	XT_CHECK(xt_child(child_destroys, both));
	(void)helper_fork(helper);
	XT_CHECK(notes_are(both[0], helper, FORK));
	XT_CHECK(xt_child(child_reinits, both));
	XT_CHECK(notes_are(both[0], helper, FORK));
	helper_exit(helper, 0);
	XT_CHECK(notes_are(both[0], helper, EXIT));
}

XT_TEST(own_process_can_be_traced)
{
	struct xpoll *queue;
	struct helper own = {-1, getpid()};

	HISTORY_OR_SKIP();
	queue = xt_open_quiet();
	XT_OK(history_watch(queue, own.pid, FORK));
	(void)helper_start();
	XT_CHECK(notes_are(queue, own, FORK));
}
