/*
 * Goal: what one process does while it lives: NOTE_FORK and NOTE_EXEC, by
 * whichever thread, and nothing else (S22, hazard 15).
 * Method: puppets that fork and exec when they are told to.
 */
#include "story.h"

#include <sys/resource.h>

/* Nothing more comes of it. */
static void is_silent(struct xpoll *queue)
{
	XT_NONE(queue);
}

/* Exactly these notes come in one event. */
static bool notes_are(struct xpoll *queue, struct puppet puppet, uint32_t notes)
{
	struct xpoll_event event;

	if (!xt_gets(__FILE__, __LINE__, queue, &event, (uint64_t)puppet.pid,
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
	struct xpoll *queue;
	struct puppet puppet;

	STORY_OR_SKIP();
	queue = xt_open();
	puppet = puppet_start();
	XT_OK(story_watch(queue, puppet.pid, FORK));
	XT_CALL(is_silent(queue));
	for (int i = 0; i < 3; i++) {
		(void)puppet_fork(puppet);
		XT_CHECK(notes_are(queue, puppet, FORK));
	}
}

XT_TEST(several_forks_before_a_delivery_are_one_event)
{
	struct xpoll *queue;
	struct puppet puppet;

	STORY_OR_SKIP();
	queue = xt_open();
	puppet = puppet_start();
	XT_OK(story_watch(queue, puppet.pid, FORK | EXIT));
	for (int i = 0; i < 3; i++)
		(void)puppet_fork(puppet);
	XT_CHECK(notes_are(queue, puppet, FORK));
}

XT_TEST(fork_before_add_is_not_reported)
{
	struct xpoll *queue;
	struct puppet puppet;
	struct puppet other;

	STORY_OR_SKIP();
	queue = xt_open();
	puppet = puppet_start();
	other = puppet_start();
	(void)puppet_fork(puppet);
	XT_OK(story_watch(queue, puppet.pid, FORK));
	/* Now the tracer is there, and has something to tell. */
	(void)puppet_fork(other);
	XT_OK(story_watch(queue, other.pid, FORK));
	XT_CALL(is_silent(queue));
	(void)puppet_fork(other);
	XT_CHECK(notes_are(queue, other, FORK));
}

XT_TEST(fork_by_a_new_thread_is_reported)
{
	struct xpoll *queue;
	struct puppet puppet;

	STORY_OR_SKIP();
	queue = xt_open();
	puppet = puppet_start();
	XT_OK(story_watch(queue, puppet.pid, FORK | EXEC));
	(void)puppet_fork_by_thread(puppet);
	XT_CHECK(notes_are(queue, puppet, FORK));
}

/* Hazard 15: attaching to a number misses what other threads do. */
XT_TEST(hazard_15_fork_by_a_thread_from_before_add_is_reported)
{
	struct xpoll *queue;
	struct puppet puppet;

	STORY_OR_SKIP();
	queue = xt_open();
	puppet = puppet_start();
	XT_CALL(puppet_thread_obeys(puppet));
	XT_OK(story_watch(queue, puppet.pid, FORK | EXEC));
	(void)puppet_fork(puppet);
	XT_CHECK(notes_are(queue, puppet, FORK));
	(void)puppet_fork_by_thread(puppet);
	XT_CHECK(notes_are(queue, puppet, FORK));
}

XT_TEST(fork_after_the_first_thread_has_ended_is_reported)
{
	struct xpoll *queue;
	struct puppet puppet;

	STORY_OR_SKIP();
	queue = xt_open();
	puppet = puppet_start();
	XT_OK(story_watch(queue, puppet.pid, FORK | EXIT));
	XT_CALL(puppet_leader_ends(puppet));
	(void)puppet_fork(puppet);
	XT_CHECK(notes_are(queue, puppet, FORK));
	puppet_exit(puppet, 1);
	XT_CHECK(notes_are(queue, puppet, EXIT));
	XT_EQ(puppet_wait(puppet), 1 << 8);
}

XT_TEST(add_after_the_first_thread_has_ended_works)
{
	struct xpoll *queue;
	struct puppet puppet;

	STORY_OR_SKIP();
	queue = xt_open();
	puppet = puppet_start();
	XT_CALL(puppet_leader_ends(puppet));
	XT_OK(story_watch(queue, puppet.pid, FORK | EXIT));
	(void)puppet_fork(puppet);
	XT_CHECK(notes_are(queue, puppet, FORK));
}

XT_TEST(hazard_15_new_thread_is_no_fork)
{
	struct xpoll *queue;
	struct puppet puppet;

	STORY_OR_SKIP();
	queue = xt_open();
	puppet = puppet_start();
	XT_OK(story_watch(queue, puppet.pid, ALL));
	for (int i = 0; i < 5; i++)
		puppet_thread(puppet);
	XT_CALL(is_silent(queue));
	(void)puppet_fork(puppet);
	XT_OK(xt_flag(queue, (uint64_t)puppet.pid, PROC, XPOLL_DELETE));
}

XT_TEST(vfork_is_a_fork)
{
	struct xpoll *queue;
	struct puppet puppet;

	STORY_OR_SKIP();
	queue = xt_open();
	puppet = puppet_start();
	XT_OK(story_watch(queue, puppet.pid, FORK));
	XT_CHECK(puppet_vfork(puppet) > 0);
	XT_CHECK(notes_are(queue, puppet, FORK));
}

XT_TEST(exec_is_reported)
{
	struct xpoll *queue;
	struct puppet puppet;

	STORY_OR_SKIP();
	queue = xt_open();
	puppet = puppet_start();
	XT_OK(story_watch(queue, puppet.pid, EXEC | FORK));
	for (int i = 0; i < 3; i++) {
		XT_CALL(puppet_exec(puppet));
		XT_CHECK(notes_are(queue, puppet, EXEC));
	}
}

XT_TEST(exec_by_another_thread_is_reported_and_tracing_goes_on)
{
	struct xpoll *queue;
	struct puppet puppet;

	STORY_OR_SKIP();
	queue = xt_open();
	puppet = puppet_start();
	XT_OK(story_watch(queue, puppet.pid, EXEC | FORK | EXIT));
	XT_CALL(puppet_exec_by_thread(puppet));
	XT_CHECK(notes_are(queue, puppet, EXEC));
	(void)puppet_fork(puppet);
	XT_CHECK(notes_are(queue, puppet, FORK));
	XT_CALL(puppet_exec(puppet));
	XT_CHECK(notes_are(queue, puppet, EXEC));
	puppet_exit(puppet, 0);
	XT_CHECK(notes_are(queue, puppet, EXIT));
}

XT_TEST(exec_that_fails_is_none)
{
	struct xpoll *queue;
	struct puppet puppet;

	STORY_OR_SKIP();
	queue = xt_open();
	puppet = puppet_start();
	XT_OK(story_watch(queue, puppet.pid, EXEC | FORK | EXIT));
	XT_CALL(puppet_exec_fails(puppet));
	XT_CALL(is_silent(queue));
}

/* Is all told of its end, and this of what it did before? */
static bool story_is(struct xpoll *queue, struct puppet puppet, uint32_t notes)
{
	struct story story = {0};

	(void)story_until(queue, &story, puppet.pid, EXIT);
	XT_EXPECT_EQ(story_of(&story, puppet.pid)->notes, notes | EXIT);
	XT_EXPECT_EQ(story.len, 1);
	free(story.told);
	is_silent(queue);
	return xt_failures() == 0;
}

/* What it did last comes before, or with, its end. */
XT_TEST(fork_exec_and_exit_before_a_delivery_come_in_order)
{
	struct xpoll *queue;
	struct puppet puppet;

	STORY_OR_SKIP();
	for (int i = 0; i < 10; i++) {
		queue = xt_open();
		puppet = puppet_start();
		XT_OK(story_watch(queue, puppet.pid, EXEC | FORK | EXIT));
		(void)puppet_fork(puppet);
		XT_CALL(puppet_exec(puppet));
		puppet_exit(puppet, 3);
		puppet_await_end(puppet);
		XT_CHECK(story_is(queue, puppet, EXEC | FORK));
		XT_EQ(puppet_wait(puppet), 3 << 8);
		xt_destroy(queue);
	}
}

XT_TEST(end_of_one_whose_end_is_not_asked_for_closes_its_last_event)
{
	struct xpoll *queue;
	struct puppet puppet;
	struct xpoll_event event;

	STORY_OR_SKIP();
	queue = xt_open();
	puppet = puppet_start();
	XT_OK(story_watch(queue, puppet.pid, FORK));
	(void)puppet_fork(puppet);
	puppet_exit(puppet, 3);
	puppet_await_end(puppet);
	XT_GETS(queue, &event, puppet.pid, PROC);
	XT_EXPECT_EQ(event.fflags, FORK);
	XT_STATUS(xt_flag(queue, (uint64_t)puppet.pid, PROC, XPOLL_DELETE),
	          ENOENT);
	(void)puppet_wait(puppet);
}

XT_TEST(children_are_not_registered_without_track)
{
	struct xpoll *queue;
	struct puppet puppet;
	struct puppet child;
	struct xpoll_event now;

	STORY_OR_SKIP();
	queue = xt_open();
	puppet = puppet_start();
	XT_OK(story_watch(queue, puppet.pid, FORK | EXEC | EXIT));
	child = puppet_fork(puppet);
	XT_CHECK(notes_are(queue, puppet, FORK));
	XT_FAILS(xpoll_lookup(queue, (uint64_t)child.pid, PROC, &now), ENOENT);
	XT_CALL(puppet_exec(child));
	(void)puppet_fork(child);
	puppet_exit(child, 0);
	XT_CALL(is_silent(queue));
}

XT_TEST(only_what_is_asked_for_is_reported)
{
	struct xpoll *queue;
	struct puppet puppet;

	STORY_OR_SKIP();
	queue = xt_open();
	puppet = puppet_start();
	XT_OK(story_watch(queue, puppet.pid, EXEC));
	(void)puppet_fork(puppet);
	XT_CALL(is_silent(queue));
	XT_OK(story_watch(queue, puppet.pid, EXIT));
	(void)puppet_fork(puppet);
	XT_CALL(puppet_exec(puppet));
	XT_CALL(is_silent(queue));
	XT_OK(story_watch(queue, puppet.pid, FORK | EXIT));
	(void)puppet_fork(puppet);
	XT_CHECK(notes_are(queue, puppet, FORK));
	XT_CALL(puppet_exec(puppet));
	XT_CALL(is_silent(queue));
	puppet_exit(puppet, 0);
	XT_CHECK(notes_are(queue, puppet, EXIT));
}

/* S3, S10 */
XT_TEST(disabled_and_dispatched_forks_wait)
{
	struct xpoll *queue;
	struct puppet puppet;
	uint64_t ident;

	STORY_OR_SKIP();
	queue = xt_open();
	puppet = puppet_start();
	ident = (uint64_t)puppet.pid;
	XT_OK(xt_change(queue, ident, PROC, XPOLL_ADD | XPOLL_DISPATCH,
	                FORK | EXEC, 0, NULL));
	(void)puppet_fork(puppet);
	XT_CHECK(notes_are(queue, puppet, FORK));
	(void)puppet_fork(puppet);
	XT_CALL(puppet_exec(puppet));
	XT_CALL(is_silent(queue));
	XT_OK(xt_flag(queue, ident, PROC, XPOLL_ENABLE));
	XT_CHECK(notes_are(queue, puppet, FORK | EXEC));
	XT_OK(xt_flag(queue, ident, PROC, XPOLL_DISABLE));
	(void)puppet_fork(puppet);
	XT_CALL(is_silent(queue));
	XT_OK(xt_flag(queue, ident, PROC, XPOLL_DELETE));
	XT_CALL(is_silent(queue));
}

XT_TEST(oneshot_is_delivered_and_gone)
{
	struct xpoll *queue;
	struct puppet puppet;

	STORY_OR_SKIP();
	queue = xt_open();
	puppet = puppet_start();
	XT_OK(xt_change(queue, (uint64_t)puppet.pid, PROC,
	                XPOLL_ADD | XPOLL_ONESHOT, FORK | EXIT, 0, NULL));
	(void)puppet_fork(puppet);
	XT_CHECK(notes_are(queue, puppet, FORK));
	(void)puppet_fork(puppet);
	puppet_exit(puppet, 0);
	puppet_await_end(puppet);
	XT_CALL(is_silent(queue));
	(void)puppet_wait(puppet);
}

XT_TEST(several_queues_trace_one_process)
{
	struct xpoll *queues[3];
	struct puppet puppet;

	STORY_OR_SKIP();
	puppet = puppet_start();
	for (int i = 0; i < 3; i++) {
		queues[i] = xt_open_quiet();
		XT_OK(story_watch(queues[i], puppet.pid, FORK | EXIT));
	}
	(void)puppet_fork(puppet);
	XT_CHECK(notes_are(queues[0], puppet, FORK));
	xt_destroy(queues[0]);
	XT_CHECK(notes_are(queues[1], puppet, FORK));
	XT_OK(xt_flag(queues[1], (uint64_t)puppet.pid, PROC, XPOLL_DELETE));
	(void)puppet_fork(puppet);
	puppet_exit(puppet, 0);
	puppet_await_end(puppet);
	XT_CHECK(story_is(queues[2], puppet, FORK));
	XT_CALL(is_silent(queues[1]));
	(void)puppet_wait(puppet);
}

/* What the tracer needs, it gives back: it works whenever anybody forks. */
XT_TEST(tracer_is_there_only_while_it_is_needed)
{
	struct xpoll *queue;
	struct puppet puppet;
	int before;

	STORY_OR_SKIP();
	queue = xt_open_quiet();
	puppet = puppet_start();
	XT_OK(story_watch(queue, puppet.pid, EXIT));
	before = xt_count_open();
	for (int i = 0; i < 3; i++) {
		XT_OK(story_watch(queue, puppet.pid, EXIT | FORK));
		XT_CHECK(xt_count_open() > before);
		(void)puppet_fork(puppet);
		XT_CHECK(notes_are(queue, puppet, FORK));
		XT_OK(story_watch(queue, puppet.pid, EXIT));
		/* The puppet's strings are one more each time. */
		XT_EQ(xt_count_open(), ++before);
	}
}

XT_TEST(no_descriptor_is_emfile_and_nothing_changes)
{
	struct xpoll *queue;
	struct puppet puppet;
	struct rlimit limit;
	struct rlimit tight;
	struct xpoll_event now;
	int before;
	int status = 0;

	STORY_OR_SKIP();
	queue = xt_open_quiet();
	puppet = puppet_start();
	XT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	before = xt_count_open();
	/* One more descriptor each time, until there are enough. */
	for (int i = 0; i < 100; i++) {
		int highest = dup(0);

		XT_CHECK(highest >= 0);
		xt_close(highest);
		tight = limit;
		tight.rlim_cur = (rlim_t)(highest + i);
		XT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
		status = story_watch(queue, puppet.pid, FORK | EXIT);
		XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
		if (status == 0)
			break;
		XT_STATUS(status, EMFILE);
		XT_EQ(xt_count_open(), before);
		XT_FAILS(xpoll_lookup(queue, (uint64_t)puppet.pid, PROC, &now),
		         ENOENT);
	}
	XT_STATUS(status, 0);
	(void)puppet_fork(puppet);
	XT_CHECK(notes_are(queue, puppet, FORK));
}

/* S26 */
static void child_reinits(void *argument)
{
	struct xpoll *queue = ((void **)argument)[0];
	struct puppet *puppet = ((void **)argument)[1];

	XT_EQ(xpoll_reinit(queue), 0);
	XT_OK(story_watch(queue, puppet->pid, FORK));
	(void)puppet_fork(*puppet);
	XT_CHECK(notes_are(queue, *puppet, FORK));
	xpoll_destroy(queue);
}

static void child_destroys(void *argument)
{
	xpoll_destroy(((void **)argument)[0]);
}

XT_TEST(forked_child_leaves_the_parents_tracer_alone)
{
	struct puppet puppet;
	void *both[2];

	STORY_OR_SKIP();
	both[0] = xt_open_quiet();
	both[1] = &puppet;
	puppet = puppet_start();
	XT_OK(story_watch(both[0], puppet.pid, FORK | EXIT));
	XT_CHECK(xt_child(child_destroys, both));
	(void)puppet_fork(puppet);
	XT_CHECK(notes_are(both[0], puppet, FORK));
	XT_CHECK(xt_child(child_reinits, both));
	XT_CHECK(notes_are(both[0], puppet, FORK));
	puppet_exit(puppet, 0);
	XT_CHECK(notes_are(both[0], puppet, EXIT));
}

XT_TEST(own_process_can_be_traced)
{
	struct xpoll *queue;
	struct puppet own = {-1, getpid()};

	STORY_OR_SKIP();
	queue = xt_open_quiet();
	XT_OK(story_watch(queue, own.pid, FORK));
	(void)puppet_start();
	XT_CHECK(notes_are(queue, own, FORK));
}
