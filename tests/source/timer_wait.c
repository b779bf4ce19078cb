/*
 * Goal: a timer ends a wait of any thread, and delays or hides no other event;
 * waits of the poll-like level ignore timers; limits and forks.
 * Method: threads that sleep until another thread starts a timer.
 */
#include "xt.h"

#include <sys/resource.h>

enum { TIMER = XPOLL_FILT_TIMER };

#define NSECONDS XPOLL_NOTE_NSECONDS
#define SECONDS  XPOLL_NOTE_SECONDS
#define HOUR_NS  (INT64_C(3600) * 1000000000)

static int timer(struct xpoll *queue, uint64_t ident, int flags,
                 uint32_t fflags, int64_t data)
{
	return xt_change(queue, ident, TIMER, flags, fflags, data, NULL);
}

/* S16: the timer is started while another thread sleeps without a timeout, or for a later timer. */
XT_TEST(armed_by_another_thread_ends_a_sleep)
{
	struct xpoll *queue = xt_open_quiet();

	for (int i = 0; i < 20; i++) {
		struct xt_sleeper waiter = {.queue = queue, .timeout_ns = -1};
		struct xt_thread *thread;

		if (i >= 10)
			XT_OK(timer(queue, 2, XPOLL_ADD, SECONDS, 3600));
		thread = xt_start(xt_sleep, &waiter);
		if (i % 2)
			xt_asleep(thread);
		int64_t start = xt_now();
		XT_OK(timer(queue, 1, XPOLL_ADD | XPOLL_ONESHOT, NSECONDS,
		            i % 3 * 1000000));
		xt_join(thread);
		XT_CHECK(xt_now() - start >= i % 3 * 1000000);
		XT_EQ(waiter.rc, 1);
		XT_EQ(waiter.event.ident, 1);
		xt_threads_reuse();
	}
}

/* One of several sleeping threads wakes for the timers; when it leaves, another one has to. */
XT_TEST(timer_waiter_that_leaves_is_followed_by_another)
{
	struct xpoll *queue = xt_open_quiet();

	for (int i = 0; i < 20; i++) {
		struct xt_sleeper waiters[3];
		struct xt_thread *threads[3];
		int timers = 0;

		XT_OK(timer(queue, 1, XPOLL_ADD | XPOLL_ONESHOT, NSECONDS,
		            5000000));
		XT_OK(xt_flag(queue, 2, USER, XPOLL_ADD | XPOLL_ONESHOT));
		XT_OK(xt_flag(queue, 3, USER, XPOLL_ADD | XPOLL_ONESHOT));
		for (int j = 0; j < 3; j++) {
			waiters[j] = (struct xt_sleeper){.queue = queue,
			                             .timeout_ns = -1};
			threads[j] = xt_start(xt_sleep, &waiters[j]);
		}
		if (i % 2)
			for (int j = 0; j < 3; j++)
				xt_asleep(threads[j]);
		/* Two threads return for these events, and the last one for the timer. */
		XT_OK(xt_trigger(queue, 2));
		XT_OK(xt_trigger(queue, 3));
		for (int j = 0; j < 3; j++) {
			xt_join(threads[j]);
			XT_EQ(waiters[j].rc, 1);
			timers += waiters[j].event.filter == TIMER;
		}
		XT_EQ(timers, 1);
		xt_threads_reuse();
	}
}

/*
 * The thread that sleeps until the next timer is woken, cancelled, or times out: another one must
 * take over.
 */
XT_TEST(timer_waiter_that_is_cancelled_is_followed_by_another)
{
	if (XT_SANITIZED)
		XT_SKIP("a sanitizer loses track of a cancelled thread");
	struct xpoll *queue = xt_open_quiet();

	for (int i = 0; i < 10; i++) {
		struct xt_sleeper waiters[2];
		struct xt_thread *threads[2];

		XT_OK(timer(queue, 1, XPOLL_ADD | XPOLL_ONESHOT, NSECONDS,
		            3000000));
		for (int j = 0; j < 2; j++) {
			waiters[j] = (struct xt_sleeper){.queue = queue,
			                             .timeout_ns = -1};
			threads[j] = xt_start(xt_sleep, &waiters[j]);
			xt_asleep(threads[j]);
		}
		(void)pthread_cancel(xt_pthread(threads[0]));
		xt_join(threads[0]);
		if (waiters[0].rc == 1)
			XT_OK(timer(queue, 1, XPOLL_ADD | XPOLL_ONESHOT,
			            NSECONDS, 0));
		xt_join(threads[1]);
		XT_EQ(waiters[1].rc, 1);
		xt_threads_reuse();
	}
}

XT_TEST(timer_waiter_with_a_timeout_is_followed_by_another)
{
	struct xpoll *queue = xt_open_quiet();

	for (int i = 0; i < 10; i++) {
		struct xt_sleeper brief = {.queue = queue, .timeout_ns = 1000000};
		struct xt_sleeper patient = {.queue = queue, .timeout_ns = -1};
		struct xt_thread *first;
		struct xt_thread *second;

		XT_OK(timer(queue, 1, XPOLL_ADD | XPOLL_ONESHOT, NSECONDS,
		            4000000));
		first = xt_start(xt_sleep, &brief);
		xt_asleep(first);
		second = xt_start(xt_sleep, &patient);
		xt_join(first);
		/* On a slow machine the first thread may have got the event. */
		if (brief.rc == 1)
			XT_OK(timer(queue, 1, XPOLL_ADD | XPOLL_ONESHOT,
			            NSECONDS, 0));
		xt_join(second);
		XT_EQ(patient.rc, 1);
		xt_threads_reuse();
	}
}

/* S17: each expiration is delivered to one of the threads. */
XT_TEST(each_of_many_comes_to_one_of_several_waiters)
{
	enum { WAITERS = 4 };
	struct xpoll *queue = xt_open_quiet();

	for (int round = 0; round < 10; round++) {
		struct xt_sleeper waiters[WAITERS];
		struct xt_thread *threads[WAITERS];
		uint64_t seen = 0;

		for (int i = 0; i < WAITERS; i++) {
			waiters[i] = (struct xt_sleeper){.queue = queue,
			                             .timeout_ns = -1};
			threads[i] = xt_start(xt_sleep, &waiters[i]);
		}
		for (int i = 0; i < WAITERS; i++)
			XT_OK(timer(queue, (uint64_t)i,
			            XPOLL_ADD | XPOLL_ONESHOT, NSECONDS,
			            100000));
		for (int i = 0; i < WAITERS; i++) {
			xt_join(threads[i]);
			XT_EQ(waiters[i].rc, 1);
			seen |= UINT64_C(1) << waiters[i].event.ident;
		}
		XT_EQ(seen, (1 << WAITERS) - 1);
		xt_threads_reuse();
	}
}

/* S15: a wait returns 0 only at its deadline, although sources have to be checked before it. */
XT_TEST(timers_of_others_do_not_end_a_wait_early)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;

	XT_OK(timer(queue, 1, XPOLL_ADD, NSECONDS, 2000000));
	XT_OK(timer(queue, 1, XPOLL_DISABLE, 0, 0));
	XT_OK(timer(queue, 2, XPOLL_ADD, NSECONDS, 1000000));
	XT_OK(timer(queue, 2, XPOLL_DELETE, 0, 0));
	int64_t start = xt_now();
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 5000000), 0);
	XT_CHECK(xt_now() - start >= 5000000);
}

XT_TEST(poll_like_wait_ignores_timers_and_leaves_them)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;

	XT_OK(timer(queue, 1, XPOLL_ADD, NSECONDS, 1000000));
	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, pipe.r, NULL), 0);
	int64_t start = xt_now();
	XT_EQ(xpoll_wait(queue, 5), 0);
	XT_CHECK(xt_now() - start >= 5000000);
	xt_put(pipe.w);
	XT_EQ(xpoll_wait(queue, 20000), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLIN);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 1);
	if (event.filter == READ)
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 1);
	XT_EQ(event.filter, TIMER);
	XT_CHECK(event.data >= 5);
}

static void wait_like_poll(void *argument)
{
	struct xt_sleeper *waiter = argument;

	waiter->rc = xpoll_wait(waiter->queue, -1);
}

/* The timers expire meanwhile, do not end the poll-like wait, and are delivered after it. */
XT_TEST(timers_that_expire_in_a_poll_like_wait_come_after_it)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();

	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, pipe.r, NULL), 0);
	for (int i = 0; i < 20; i++) {
		struct xt_sleeper waiter = {.queue = queue};
		struct xt_thread *thread = xt_start(wait_like_poll, &waiter);

		if (i % 2)
			xt_asleep(thread);
		XT_OK(timer(queue, 1, XPOLL_ADD | XPOLL_ONESHOT, NSECONDS, i * 100000));
		while (xpoll_next_timeout(queue) > 0)
			(void)poll(NULL, 0, 1);
		XT_CHECK(!xt_done(thread));
		xt_put(pipe.w);
		xt_join(thread);
		xt_threads_reuse();
		XT_EQ(waiter.rc, 1);
		XT_EQ(xt_get(pipe.r), 'x');
		XT_GETS(queue, NULL, 1, TIMER);
	}
}

/* All timers on the real-time clock share one descriptor; others need none. */
XT_TEST(descriptors_one_for_abstime_none_for_others)
{
	struct xpoll *queue = xt_open_quiet();
	int before = xt_count_open();

	for (uint64_t i = 0; i < 100; i++)
		XT_OK(timer(queue, i, XPOLL_ADD, 0, 1000000));
	for (uint64_t i = 100; i < 200; i++)
		XT_OK(timer(queue, i, XPOLL_ADD, XPOLL_NOTE_MONOTONIC, 1));
	XT_EQ(xt_count_open(), before);
	for (uint64_t i = 200; i < 300; i++)
		XT_OK(timer(queue, i, XPOLL_ADD, XPOLL_NOTE_ABSTIME, 1));
	XT_CHECK(xt_count_open() <= before + 1);
}

/* If the descriptor cannot be opened, ADD fails with EMFILE and changes nothing. */
static void no_descriptors(void *argument)
{
	struct xpoll *queue = argument;
	struct rlimit limit;
	struct xpoll_event now;
	int used = xt_pipe().w;

	XT_EQ(xpoll_reinit(queue), 0);
	XT_OK(timer(queue, 1, XPOLL_ADD, SECONDS, 3600));
	XT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 3;
	XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	XT_FAILS(dup(used), EMFILE);
	XT_STATUS(timer(queue, 1, XPOLL_ADD, XPOLL_NOTE_ABSTIME, 1), EMFILE);
	XT_STATUS(timer(queue, 2, XPOLL_ADD, XPOLL_NOTE_ABSTIME, 1), EMFILE);
	XT_FAILS(xpoll_lookup(queue, 2, TIMER, &now), ENOENT);
	XT_EQ(xpoll_lookup(queue, 1, TIMER, &now), 0);
	XT_EXPECT_EQ(now.fflags, SECONDS);
	XT_CHECK(xpoll_next_timeout(queue) > HOUR_NS / 2);
	/* Timers on the monotonic clock need no descriptor. */
	XT_OK(timer(queue, 3, XPOLL_ADD | XPOLL_ONESHOT, 0, 0));
	XT_GETS(queue, NULL, 3, TIMER);
	limit.rlim_cur = limit.rlim_max;
	XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	XT_OK(timer(queue, 2, XPOLL_ADD, XPOLL_NOTE_ABSTIME, 1));
	XT_GETS(queue, NULL, 2, TIMER);
}

XT_TEST(abstime_without_descriptors_is_emfile_and_changes_nothing)
{
	struct xpoll *queue = xt_open_quiet();

	if (xt_kqueue())
		XT_SKIP("no descriptor tells that the clock was set");
	/* Use a child, because the limit applies to the process. */
	XT_CHECK(xt_child(no_descriptors, queue));
}

struct family {
	struct xpoll *queue;
	int64_t before;
	int64_t after;
};

static void child_takes_over(void *argument)
{
	struct family *family = argument;
	struct xpoll *queue = family->queue;
	struct xpoll_event events[8];
	struct xpoll_event now;

	XT_STATUS(timer(queue, 1, XPOLL_ADD, 0, 0), EBADF);
	XT_FAILS(xpoll_next_timeout(queue), EBADF);
	XT_EQ(xpoll_reinit(queue), 0);
	/* The timers 2, 3 and 4 had expired; some were pending already, others not. */
	XT_EQ(xpoll_event(queue, NULL, 0, events, 8, 0), 3);
	for (uint64_t i = 2; i <= 4; i++)
		XT_CHECK(xt_find(events, 3, i, TIMER) >= 0);
	int at = xt_find(events, 3, 4, TIMER);
	XT_CHECK(events[at].data <= (xt_now() - family->before) / 1000);
	/* The other timers continue, with the same expirations. */
	XT_OK(timer(queue, 4, XPOLL_DELETE, 0, 0));
	XT_OK(timer(queue, 3, XPOLL_DELETE, 0, 0));
	int64_t left = xpoll_next_timeout(queue);
	XT_CHECK(left <= HOUR_NS);
	XT_CHECK(left >= HOUR_NS - (xt_now() - family->before));
	XT_EQ(xpoll_lookup(queue, 5, TIMER, &now), 0);
	XT_CHECK(now.flags & XPOLL_DISABLE);
	XT_OK(timer(queue, 5, XPOLL_ENABLE, 0, 0));
	XT_GETS(queue, NULL, 5, TIMER);
	xpoll_destroy(queue);
}

static void child_destroys(void *argument)
{
	struct family *family = argument;

	xpoll_destroy(family->queue);
}

/* S26: after xpoll_reinit the child's timers expire at the same times, and so do the parent's. */
XT_TEST(child_reinit_has_the_same_moments_and_the_parent_too)
{
	struct family family = {.queue = xt_open_quiet()};
	struct xpoll *queue = family.queue;
	struct xpoll_event events[8];

	family.before = xt_now();
	XT_OK(timer(queue, 1, XPOLL_ADD, SECONDS, 3600));
	XT_OK(timer(queue, 2, XPOLL_ADD | XPOLL_ONESHOT, NSECONDS, 1));
	XT_OK(timer(queue, 3, XPOLL_ADD, XPOLL_NOTE_ABSTIME, 1));
	/* The poll-like level has found the timer expired, so its event is pending. */
	XT_EQ(xpoll_wait(queue, 0), 0);
	XT_OK(timer(queue, 4, XPOLL_ADD, NSECONDS, 1000));
	XT_OK(timer(queue, 5, XPOLL_ADD | XPOLL_DISABLE, NSECONDS, 1));
	family.after = xt_now();
	while (xt_now() < family.after + 10000)
		continue;
	XT_CHECK(xt_child(child_destroys, &family));
	XT_CHECK(xt_child(child_takes_over, &family));
	XT_EQ(xpoll_event(queue, NULL, 0, events, 8, 0), 3);
	for (uint64_t i = 2; i <= 4; i++)
		XT_CHECK(xt_find(events, 3, i, TIMER) >= 0);
}
