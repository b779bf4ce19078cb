/*
 * Goal: properties of event ports: an association ends with its event, an event
 * may be outdated, and the process's limit counts both.
 * Method: the queue's counters; states that change between the event and the
 * wait; a limit that makes the port full (tests/lib/kernels/sunos).
 */
#include "xt.h"

#include <sched.h>

static void limit(int most)
{
	char text[16];

	(void)snprintf(text, sizeof text, "%d", most);
	(void)setenv("PORT_MODEL_MAX_EVENTS", text, 1);
}

static void no_limit(void)
{
	(void)unsetenv("PORT_MODEL_MAX_EVENTS");
}

/* The pipe's event is in the port already when the data is read: the wait must not deliver it. */
XT_TEST(event_that_is_out_of_date_is_not_told)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xt_pair other = xt_pipe();

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	for (int i = 0; i < 20; i++) {
		xt_put(pipe.w);
		/* Any call makes the model move the event into the port's queue. */
		XT_OK(xt_add(queue, other.r, READ, 0));
		XT_EQ(xt_get(pipe.r), 'x');
		XT_NONE(queue);
		XT_OK(xt_flag(queue, (uint64_t)other.r, READ, XPOLL_DELETE));
		xt_put(pipe.w);
		XT_GETS(queue, NULL, pipe.r, READ);
		XT_EQ(xt_get(pipe.r), 'x');
	}
}

XT_TEST(event_of_a_former_registration_is_not_told)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;

	xt_put(pipe.w);
	for (int i = 0; i < 8; i++) {
		XT_OK(xt_add(queue, pipe.r, READ, 0));
		XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_DELETE));
		XT_NONE(queue);
		XT_OK(xt_change(queue, (uint64_t)pipe.r, READ, XPOLL_ADD, 0, 0,
		                &queue));
		XT_GETS(queue, &event, pipe.r, READ);
		XT_EXPECT(event.udata == &queue);
		XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_DELETE));
	}
}

/*
 * The library requests one event more than there are, so the ready descriptor is associated once
 * for each event.
 */
XT_TEST(level_event_costs_one_association)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;
	struct xpoll_stats before;
	struct xpoll_stats after;

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	before = xt_stats(queue);
	for (int i = 0; i < 100; i++) {
		xt_put(pipe.w);
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
		XT_EQ(xt_get(pipe.r), 'x');
	}
	after = xt_stats(queue);
	XT_CHECK(after.syscalls_change - before.syscalls_change <= 100);
	XT_CHECK(after.syscalls_wait - before.syscalls_wait <= 100);
	/*
	 * For each event: one check for a reused descriptor, and one whether the event is outdated.
	 */
	XT_CHECK(after.syscalls_check - before.syscalls_check <= 200);
}

static void take_wake(void *argument)
{
	struct xpoll_event event;

	XT_EXPECT_EQ(xpoll_event(argument, NULL, 0, &event, 1, -1), 0);
}

/* A port without room for another event is put on alert. */
XT_TEST(full_port_wakes_each_sleeper_once)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_thread *threads[3];
	struct xt_pair pipes[2] = {xt_pipe(), xt_pipe()};
	struct xpoll_event event;

	XT_OK(xt_add(queue, pipes[0].r, READ, 0));
	XT_OK(xt_add(queue, pipes[1].r, READ, 0));
	for (int i = 0; i < 3; i++) {
		threads[i] = xt_start(take_wake, queue);
		xt_asleep(threads[i]);
	}
	limit(2);
	for (int i = 0; i < 3; i++)
		XT_EXPECT_EQ(xpoll_wake_all(queue), 0);
	for (int i = 0; i < 3; i++) {
		/* The thread may not have been asleep yet: wake again. */
		while (!xt_done(threads[i])) {
			XT_EXPECT_EQ(xpoll_wake_all(queue), 0);
			(void)sched_yield();
		}
		xt_join(threads[i]);
	}
	XT_EXPECT_EQ(xpoll_wake(queue), 0);
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 0);
	/* The alert has ended, so events are reported again. */
	xt_put(pipes[0].w);
	XT_GETS(queue, NULL, pipes[0].r, READ);
	no_limit();
}

XT_TEST(full_port_add_is_enospc_and_changes_nothing)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair one = xt_pipe();
	struct xt_pair two = xt_pipe();
	struct xpoll_event now;

	XT_OK(xt_add(queue, one.r, READ, 0));
	limit(1);
	XT_STATUS(xt_add(queue, two.r, READ, 0), ENOSPC);
	XT_FAILS(xpoll_lookup(queue, (uint64_t)two.r, READ, &now), ENOENT);
	XT_OK(xt_flag(queue, (uint64_t)one.r, READ, XPOLL_DELETE));
	XT_OK(xt_add(queue, two.r, READ, 0));
	no_limit();
	xt_put(two.w);
	XT_GETS(queue, NULL, two.r, READ);
}

/*
 * A descriptor that cannot be associated is reported as an error of the wait, and the next wait
 * tries again.
 */
XT_TEST(full_port_enable_is_an_error_of_the_wait_and_is_not_lost)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair one = xt_pipe();
	struct xt_pair two = xt_pipe();
	struct xpoll_event event;

	XT_OK(xt_add(queue, two.r, READ, XPOLL_DISABLE));
	XT_OK(xt_add(queue, one.r, READ, 0));
	xt_put(two.w);
	limit(1);
	XT_OK(xt_flag(queue, (uint64_t)two.r, READ, XPOLL_ENABLE));
	for (int i = 0; i < 3; i++)
		XT_FAILS(xpoll_event(queue, NULL, 0, &event, 1, 0), ENOSPC);
	no_limit();
	XT_GETS(queue, NULL, two.r, READ);
}

struct sleeper {
	struct xpoll *queue;
	int ident;
};

static void take_read(void *argument)
{
	struct sleeper *sleeper = argument;
	struct xpoll_event event;

	if (XT_EXPECT_EQ(xpoll_event(sleeper->queue, NULL, 0, &event, 1, -1), 1))
		XT_EXPECT_EQ(event.ident, (uint64_t)sleeper->ident);
}

/* The sleeping thread waits at the port, which does not report edges. */
XT_TEST(first_edge_is_heard_of_by_all_who_sleep)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	struct sleeper sleeper = {queue, pipe.r};
	struct xt_thread *threads[3];

	for (int i = 0; i < 3; i++) {
		threads[i] = xt_start(take_read, &sleeper);
		xt_asleep(threads[i]);
	}
	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_CLEAR));
	for (int i = 0; i < 3; i++) {
		uint64_t events = xt_stats(queue).events;

		xt_put(pipe.w);
		while (xt_stats(queue).events == events)
			(void)xt_poll(pipe.r, POLLIN);
	}
	for (int i = 0; i < 3; i++)
		xt_join(threads[i]);
}
