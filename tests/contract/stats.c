/*
 * Goal: xpoll_stats counts what its description says, and disabling and enabling costs no system
 * call where the kernel allows that (docs/guide/cost.md).
 * Method: known numbers of operations; differences of the counters.
 */
#include "xt.h"

#include <sched.h>

/* Complaint: Nobody can see what a loop does. */
XT_TEST(stats_count_changes_errors_events_and_waits)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;
	struct xpoll_stats start = xt_stats(queue);

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_STATUS(xt_flag(queue, 1, USER, XPOLL_DELETE), ENOENT);
	XT_STATUS(xt_flag(queue, 1, 99, XPOLL_ADD), EINVAL);
	struct xpoll_stats now = xt_stats(queue);
	XT_EXPECT_EQ(now.changes - start.changes, 3);
	XT_EXPECT_EQ(now.change_errors - start.change_errors, 2);
	XT_EXPECT_EQ(now.registered, 1);
	xt_put(pipe.w);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	XT_EQ(xt_get(pipe.r), 'x');
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 1000), 0);
	now = xt_stats(queue);
	XT_EXPECT_EQ(now.waits - start.waits, 3);
	XT_EXPECT_EQ(now.events - start.events, 1);
	XT_EXPECT_EQ(now.empty_returns - start.empty_returns, 2);
	XT_CHECK(now.syscalls_wait + now.syscalls_check > 0);
	XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_DELETE));
	XT_EXPECT_EQ(xt_stats(queue).registered, 0);
}

XT_TEST(stats_registered_follows_every_way_in_and_out)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN | POLLOUT, pair.r, NULL), 0);
	XT_EXPECT_EQ(xt_stats(queue).registered, 2);
	XT_OK(xt_add(queue, pair.r, READ, 0));
	XT_EXPECT_EQ(xt_stats(queue).registered, 2);
	XT_OK(xt_flag(queue, 1, USER, XPOLL_ADD | XPOLL_ONESHOT));
	XT_OK(xt_add(queue, pair.w, WRITE, XPOLL_ONESHOT));
	XT_EXPECT_EQ(xt_stats(queue).registered, 4);
	XT_EQ(xpoll_close_fd(pair.r), 0);
	XT_EXPECT_EQ(xt_stats(queue).registered, 2);
	XT_OK(xt_trigger(queue, 1));
	struct xpoll_event events[4];
	while (xpoll_event(queue, NULL, 0, events, 4, 0) > 0)
		continue;
	XT_EXPECT_EQ(xt_stats(queue).registered, 0);
}

/* A descriptor that is ready in both directions takes two events of the array. */
XT_TEST(stats_short_array_costs_no_change_for_each_event)
{
	enum { PAIRS = 32, ROUNDS = 40, CAP = 16 };
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pairs[PAIRS];
	struct xpoll_event events[CAP];

	for (int i = 0; i < PAIRS; i++) {
		pairs[i] = xt_socketpair(SOCK_STREAM);
		XT_OK(xt_add(queue, pairs[i].r, READ, XPOLL_CLEAR));
		XT_OK(xt_add(queue, pairs[i].r, WRITE, XPOLL_CLEAR));
	}
	struct xpoll_stats before = xt_stats(queue);
	int reads = 0;
	for (int i = 0; i < ROUNDS; i++) {
		for (int j = 0; j < PAIRS; j++)
			xt_put(pairs[j].w);
		while (reads < (i + 1) * PAIRS) {
			int count = xpoll_event(queue, NULL, 0, events, CAP, -1);

			XT_CHECK(count > 0);
			for (int j = 0; j < count; j++)
				if (events[j].filter == READ)
					reads += xt_drain((int)events[j].ident);
		}
	}
	struct xpoll_stats after = xt_stats(queue);
	xt_note("%ju changes", (uintmax_t)(after.syscalls_change - before.syscalls_change));
	XT_EXPECT(after.syscalls_change - before.syscalls_change <= ROUNDS * PAIRS / 8);
}

/* With one thread, epoll is called once, with room for as many reports as the array. */
XT_TEST(stats_all_ready_take_one_call)
{
	enum { COUNT = 1000 };
	static struct xpoll_event events[COUNT];
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	if (!xt_is("epoll") || xt_threads)
		return;
	xt_put(pair.w);
	for (int i = 0; i < COUNT; i++) {
		int fd = xt_dup(pair.r);

		XT_OK(xt_add(queue, fd, READ, 0));
	}
	for (int i = 0; i < 3; i++) {
		struct xpoll_stats start = xt_stats(queue);

		XT_EQ(xpoll_event(queue, NULL, 0, events, COUNT, -1), COUNT);
		XT_EXPECT_EQ(xt_stats(queue).syscalls_wait - start.syscalls_wait, 1);
	}
}

static void wait_for_nothing(void *queue)
{
	struct xpoll_event event;

	(void)xpoll_event(queue, NULL, 0, &event, 1, -1);
}

/* Let two threads wait, so that from then on the queue works for several threads. */
static void two_threads_wait(struct xpoll *queue)
{
	struct xt_thread *threads[2];

	for (int i = 0; i < 2; i++)
		threads[i] = xt_start(wait_for_nothing, queue);
	for (int i = 0; i < 2; i++)
		xt_asleep(threads[i]);
	while (!xt_done(threads[0]) || !xt_done(threads[1])) {
		XT_EQ(xpoll_wake_all(queue), 0);
		(void)sched_yield();
	}
	for (int i = 0; i < 2; i++)
		xt_join(threads[i]);
}

/* A pool of threads with more events than fit into its arrays. */
XT_TEST(stats_pool_with_short_arrays_costs_less_than_a_call_for_each_event)
{
	enum { PIPES = 128, ROUNDS = 200, CAP = 16 };
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event events[CAP];
	struct xt_pair pipes[PIPES];
	uint64_t calls = 0;
	int count = 0;
	int all = 0;

	for (int i = 0; i < PIPES; i++) {
		pipes[i] = xt_pipe();
		XT_OK(xt_add(queue, pipes[i].r, READ, XPOLL_DISPATCH));
	}
	two_threads_wait(queue);
	for (int i = 0; i < PIPES; i++)
		xt_put(pipes[i].w);
	for (int i = 0; i < ROUNDS; i++) {
		struct xpoll_stats before = xt_stats(queue);

		count = xpoll_event(queue, events, count, events, CAP, -1);
		XT_CHECK(count > 0);
		for (int j = 0; j < count; j++)
			events[j].flags = XPOLL_ENABLE;
		if (i < ROUNDS / 4)
			continue; /* the library adapts its number of reports in the first rounds */
		struct xpoll_stats after = xt_stats(queue);
		calls += after.syscalls_change - before.syscalls_change +
			after.syscalls_check - before.syscalls_check +
			after.syscalls_wait - before.syscalls_wait;
		all += count;
	}
	xt_note("%ju calls, %d events", (uintmax_t)calls, all);
	/* port has to associate each reported descriptor again; afd checks each pipe by a call. */
	XT_EXPECT(calls < (uint64_t)all * (xt_is("port") ? 3 : xt_is("afd") ? 6 : 1));
}

static void look_once(void *queue)
{
	struct xpoll_event event;

	(void)xpoll_event(queue, NULL, 0, &event, 1, 0);
}

/*
 * Descriptors that a thread of a pool enables in its wait are checked together, not changed one by
 * one.
 */
XT_TEST(stats_enable_of_silent_ones_with_a_wait_costs_one_check)
{
	enum { COUNT = 8 };
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event events[COUNT], changes[COUNT];
	struct xt_pair pairs[COUNT];
	struct xpoll_stats before, after;

	if (!xt_is("epoll"))
		return;
	for (int i = 0; i < COUNT; i++) {
		pairs[i] = xt_socketpair(SOCK_STREAM);
		xt_put(pairs[i].w);
		XT_OK(xt_add(queue, pairs[i].r, READ, XPOLL_DISPATCH));
		changes[i] = xt_record((uint64_t)pairs[i].r, READ, XPOLL_ENABLE);
	}
	/*
	 * Several threads wait, and data for a disabled descriptor makes the library disarm its
	 * entry.
	 */
	xt_join(xt_start(look_once, queue));
	for (int i = 1; i < COUNT; i++)
		XT_EQ(xpoll_event(queue, NULL, 0, events, 1, 0), 1);
	XT_EQ(xpoll_event(queue, NULL, 0, events, COUNT, 0), 0);
	before = xt_stats(queue);
	XT_EQ(xpoll_event(queue, changes, COUNT, events, COUNT, 0), COUNT);
	after = xt_stats(queue);
	XT_EXPECT_EQ(after.syscalls_change, before.syscalls_change);
	XT_EXPECT_EQ(after.syscalls_check - before.syscalls_check, 1);
	/* Descriptors that the check finds not ready are armed. */
	for (int i = 0; i < COUNT; i++)
		XT_EQ(xt_drain(pairs[i].r), 1);
	XT_EQ(xpoll_event(queue, changes, COUNT, events, COUNT, 0), 0);
	for (int i = 0; i < COUNT; i++)
		xt_put(pairs[i].w);
	XT_EQ(xpoll_event(queue, NULL, 0, events, COUNT, -1), COUNT);
}

/* A pool of one thread: if the peer answers only after the ENABLE, an event needs no change. */
XT_TEST(stats_enable_with_a_wait_of_a_silent_one_becomes_free)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xpoll_event event, enable = xt_record((uint64_t)pair.r, READ, XPOLL_ENABLE);
	uint64_t before = 0;

	if (!xt_is("epoll"))
		return;
	XT_OK(xt_add(queue, pair.r, READ, XPOLL_DISPATCH));
	xt_put(pair.w);
	xt_join(xt_start(look_once, queue));
	/* Data for a disabled filter makes the library disarm its entry. */
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	XT_EQ(xt_drain(pair.r), 1);
	for (int i = 0; i < 200; i++) {
		if (i == 100)
			before = xt_stats(queue).syscalls_change;
		XT_EQ(xpoll_event(queue, &enable, 1, &event, 1, 0), 0);
		xt_put(pair.w);
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
		XT_EQ(xt_drain(pair.r), 1);
	}
	XT_EXPECT(xt_stats(queue).syscalls_change - before <= 8);
}

XT_TEST(stats_small_struct_is_filled_as_far_as_it_goes)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_stats stats;
	struct xpoll_event event;

	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	memset(&stats, 0xff, sizeof stats);
	XT_EQ(xpoll_stats(queue, &stats, sizeof stats.waits), 0);
	XT_EXPECT_EQ(stats.waits, 1);
	XT_EXPECT_EQ(stats.events, UINT64_MAX);
}

XT_TEST(stats_larger_struct_has_zeros_at_the_end)
{
	struct larger {
		struct xpoll_stats base;
		uint64_t more[4];
	} larger;
	struct xpoll *queue = xt_open_quiet();

	memset(&larger, 0xff, sizeof larger);
	XT_EQ(xpoll_stats(queue, &larger.base, sizeof larger), 0);
	for (int i = 0; i < 4; i++)
		XT_EXPECT_EQ(larger.more[i], 0);
}

/* 1000 times DISABLE and ENABLE without a wait */
XT_TEST(toggles_need_no_system_call)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	uint64_t ident = (uint64_t)pair.r;

	XT_OK(xt_add(queue, pair.r, READ, 0));
	XT_OK(xt_add(queue, pair.r, WRITE, XPOLL_DISABLE));
	struct xpoll_stats before = xt_stats(queue);
	for (int i = 0; i < 1000; i++) {
		XT_OK(xt_flag(queue, ident, WRITE, XPOLL_ENABLE));
		XT_OK(xt_flag(queue, ident, WRITE, XPOLL_DISABLE));
	}
	struct xpoll_stats after = xt_stats(queue);
	XT_CHECK(after.changes_free - before.changes_free >= 1990);
	XT_CHECK(after.syscalls_change - before.syscalls_change <= 10);
}

/* With data between the changes: each wait is one system call, and a change none. */
XT_TEST(toggles_with_traffic_need_no_system_call)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_OK(xt_add(queue, pipe.w, WRITE, XPOLL_DISABLE));
	struct xpoll_stats before = xt_stats(queue);
	for (int i = 0; i < 1000; i++) {
		XT_OK(xt_flag(queue, (uint64_t)pipe.w, WRITE, XPOLL_ENABLE));
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
		XT_EQ(event.filter, WRITE);
		XT_OK(xt_flag(queue, (uint64_t)pipe.w, WRITE, XPOLL_DISABLE));
		xt_put(pipe.w);
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
		XT_EQ(event.filter, READ);
		XT_EQ(xt_get(pipe.r), 'x');
	}
	struct xpoll_stats after = xt_stats(queue);
	/*
	 * On port and afd an event ends the kernel's registration; /dev/poll gets changes before a
	 * wait.
	 */
	XT_CHECK(after.syscalls_change - before.syscalls_change <=
	         (xt_sunos() || xt_is("afd") ? 2050 : 50));
	XT_CHECK(after.changes_free - before.changes_free >= 1950);
	xt_note("per read: %.2f waiting, %.2f checking, %.3f changing",
	        (double)(after.syscalls_wait - before.syscalls_wait) / 1000,
	        (double)(after.syscalls_check - before.syscalls_check) / 1000,
	        (double)(after.syscalls_change - before.syscalls_change) /
	            1000);
}

/* Changes are passed with the wait: they need no call of their own, and no probe. */
XT_TEST(stats_kqueue_toggles_cost_no_call_and_a_wait_is_one)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xpoll_event changes[2];
	struct xpoll_event event;
	uint64_t fd = (uint64_t)pair.r;

	XT_OK(xt_add(queue, pair.r, READ, 0));
	XT_OK(xt_add(queue, pair.r, WRITE, XPOLL_DISABLE));
	xt_put(pair.w);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	struct xpoll_stats start = xt_stats(queue);
	for (int i = 0; i < 1000; i++) {
		int on = i % 2 ? READ : WRITE;

		xpoll_set(&changes[0], fd, READ + WRITE - on, XPOLL_DISABLE, 0, 0, NULL);
		xpoll_set(&changes[1], fd, on, XPOLL_ENABLE, 0, 0, NULL);
		XT_EQ(xpoll_event(queue, changes, 2, &event, 1, -1), 1);
		XT_EQ(event.filter, on);
	}
	struct xpoll_stats now = xt_stats(queue);
	if (!xt_is("kqueue"))
		return;
	XT_EXPECT_EQ(now.syscalls_change - start.syscalls_change, 0);
	XT_EXPECT_EQ(now.syscalls_check - start.syscalls_check, 0);
	XT_EXPECT_EQ(now.syscalls_wait - start.syscalls_wait, 1000);
}

/*
 * Two descriptors have traffic; after each `bytes` bytes one of them is disabled while it has data.
 */
static void pauses(int bytes, double *calls)
{
	enum { STEPS = 2000 };
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipes[2] = {xt_pipe(), xt_pipe()};
	uint64_t paused = (uint64_t)pipes[0].r;

	XT_OK(xt_add(queue, pipes[0].r, READ, 0));
	XT_OK(xt_add(queue, pipes[1].r, READ, 0));
	struct xpoll_stats start = xt_stats(queue);
	for (int i = 0; i < STEPS; i++) {
		xt_put(pipes[i % 2].w);
		if (i % 2 == 0 && i / 2 % bytes == 0) {
			XT_OK(xt_flag(queue, paused, READ, XPOLL_DISABLE));
			xt_put(pipes[1].w);
			XT_GETS(queue, NULL, pipes[1].r, READ);
			XT_EQ(xt_get(pipes[1].r), 'x');
			XT_OK(xt_flag(queue, paused, READ, XPOLL_ENABLE));
		}
		XT_GETS(queue, NULL, pipes[i % 2].r, READ);
		XT_EQ(xt_get(pipes[i % 2].r), 'x');
	}
	struct xpoll_stats now = xt_stats(queue);
	*calls = (double)(now.syscalls_wait + now.syscalls_check +
	                  now.syscalls_change - start.syscalls_wait -
	                  start.syscalls_check - start.syscalls_change) / STEPS;
}

/*
 * A disarmed entry becomes level-triggered again: a descriptor that is disabled now and then is not
 * checked in every wait.
 */
XT_TEST(stats_pauses_now_and_then_cost_little)
{
	double sixteenth = 9, hundredth = 9;

	XT_SINGLE_ONLY(); /* the test counts waits */
	pauses(16, &sixteenth);
	pauses(100, &hundredth);
	xt_note("%.2f and %.2f calls for each event", sixteenth, hundredth);
	XT_EXPECT(hundredth < sixteenth || !xt_is("epoll"));
	XT_EXPECT(sixteenth < (xt_is("epoll") ? 1.4 : 5));
	XT_EXPECT(hundredth < (xt_is("epoll") ? 1.2 : 5));
}

static uint64_t idle_ns(struct xpoll *queue)
{
	return xt_stats(queue).idle_ns;
}

static void child_counts_no_sleeper(void *queue)
{
	struct xpoll_event event;
	uint64_t idle;

	XT_EQ(xpoll_reinit(queue), 0);
	idle = idle_ns(queue);
	XT_EXPECT(idle > 0);
	XT_EXPECT_EQ(idle_ns(queue), idle);
	/* The idle time of a sleep counts once. */
	int64_t start = xt_now();
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 2000000), 0);
	XT_EXPECT(idle_ns(queue) - idle <= (uint64_t)(xt_now() - start));
}

/* Idle time grows while threads sleep, by the time of each of them. */
XT_TEST(stats_idle_time_is_that_of_each_sleeping_thread)
{
	enum { THREADS = 2 };
	struct xpoll *queue = xt_open_flags(XPOLL_COUNT_IDLE);
	struct xt_thread *threads[THREADS];
	int64_t start = xt_now(), from, to;
	uint64_t before, after;

	XT_EXPECT_EQ(idle_ns(queue), 0);
	for (int i = 0; i < THREADS; i++)
		threads[i] = xt_start(wait_for_nothing, queue);
	for (int i = 0; i < THREADS; i++)
		xt_asleep(threads[i]);
	do { /* until both threads sleep for a whole millisecond */
		before = idle_ns(queue);
		from = xt_now();
		do
			to = xt_now();
		while (to - from < 1000000);
		after = idle_ns(queue);
		XT_CHECK(after - before <= THREADS * (uint64_t)(xt_now() - start));
	} while (after - before < THREADS * (uint64_t)(to - from));
	if (!XT_SANITIZED)
		XT_CHECK(xt_child(child_counts_no_sleeper, queue));
	for (int i = 0; i < THREADS; i++)
		xt_send_home(queue, threads[i]);
	after = idle_ns(queue);
	XT_EXPECT(after <= THREADS * (uint64_t)(xt_now() - start));
	XT_EXPECT_EQ(idle_ns(queue), after);
}

XT_TEST(stats_idle_time_is_of_sleeps_alone_and_only_if_requested)
{
	struct xpoll *silent = xt_open_quiet();
	struct xpoll *queue = xt_open_flags(XPOLL_COUNT_IDLE);
	struct xpoll_event event;

	XT_EQ(xpoll_event(silent, NULL, 0, &event, 1, 2000000), 0);
	XT_EXPECT_EQ(idle_ns(silent), 0);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	XT_EXPECT_EQ(idle_ns(queue), 0);
	int64_t start = xt_now();
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 2000000), 0);
	uint64_t slept = idle_ns(queue);
	XT_EXPECT(slept > 0);
	XT_EXPECT(slept <= (uint64_t)(xt_now() - start));
	/* The poll-like level sleeps in the same way. */
	XT_EQ(xpoll_wait(queue, 2), 0);
	XT_EXPECT(idle_ns(queue) > slept);
}
