/*
 * Goal: pthread_cancel inside a wait leaves the queue usable (hazard 20): the
 * cancelled thread is no longer counted as a waiter, holds no lock, and loses
 * no event.
 * Method: cancel blocked waiters of each kind many times; then everything that
 * depends on the count of waiters must still work.
 */
#include "xt.h"

#ifdef __linux__
#include <sched.h>
#endif

struct victim {
	struct xpoll *queue;
	int kind; /* kind of wait, number of early returns, or a descriptor: depends on the test */
	atomic_int inside;
	int64_t got;
};

static void victim_run(void *argument)
{
	struct victim *victim = argument;
	struct xpoll_event event;
	sigset_t empty;

	(void)sigemptyset(&empty);
	/* OpenBSD's static C library does not set the cancellation type of a new thread. */
	(void)pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	atomic_store(&victim->inside, 1);
	for (;;) {
		int rc;

		if (victim->kind == 0)
			rc = xpoll_event(victim->queue, NULL, 0, &event, 1, -1);
		else if (victim->kind == 1)
			rc = xpoll_wait(victim->queue, -1);
		else if (victim->kind == 2)
			rc = xpoll_event_mask(victim->queue, NULL, 0, &event, 1,
			                      -1, &empty);
		else
			rc = xpoll_event(victim->queue, NULL, 0, &event, 1,
			                 XT_SOON);
		if (rc < 0)
			return;
		victim->got += rc;
	}
}

/* Start a victim and cancel it: when it is asleep, or while it is on its way there. */
static void cancel_one(struct victim *victim, int asleep)
{
	atomic_store(&victim->inside, 0);
	struct xt_thread *thread = xt_start(victim_run, victim);

	xt_until(&victim->inside, 1);
	if (asleep)
		xt_asleep(thread);
	XT_EQ(pthread_cancel(xt_pthread(thread)), 0);
	xt_join(thread);
	xt_threads_reuse();
}

static void usable(struct xpoll *queue, struct xt_pair pipe)
{
	struct xpoll_event event;

	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	xt_put(pipe.w);
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_EQ(xt_get(pipe.r), 'x');
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	XT_EQ(xpoll_wait(queue, 0), 0);
	uint64_t wakes = xt_stats(queue).wakes;
	XT_EQ(xpoll_wake(queue), 0);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 0);
	XT_EQ(xt_stats(queue).wakes, wakes + 1);
}

/*
 * AddressSanitizer and ThreadSanitizer lose track of a thread that leaves a system call by
 * unwinding, and report errors that do not exist.
 */
static void cancels(int kind, int mode)
{
	if (XT_SANITIZED)
		XT_SKIP("a sanitizer loses track of a cancelled thread");

	struct victim victim = {.queue = xt_open(), .kind = kind};
	struct xt_pair pipe = xt_pipe();

	XT_OK(xt_add(victim.queue, pipe.r, READ, mode));
	for (int i = 0; i < 100; i++)
		XT_CALL(cancel_one(&victim, i % 4 == 0));
	XT_CALL(usable(victim.queue, pipe));
	/*
	 * xpoll_destroy waits for waiters to leave, so it hangs if a cancelled thread is still
	 * counted.
	 */
	xt_destroy(victim.queue);
}

XT_TEST(hazard_20_cancelled_event_wait_leaves_no_trace)
{
	XT_CALL(cancels(0, 0));
	XT_CALL(cancels(0, XPOLL_CLEAR));
}

XT_TEST(hazard_20_cancelled_poll_like_wait_leaves_no_trace)
{
	XT_CALL(cancels(1, 0));
}

XT_TEST(hazard_20_cancelled_masked_wait_leaves_no_trace)
{
	XT_CALL(cancels(2, 0));
}

XT_TEST(hazard_20_cancelled_timed_wait_leaves_no_trace)
{
	XT_CALL(cancels(3, 0));
}

/* Cancel one of several waiting threads; the others continue to wait. */
XT_TEST(hazard_20_cancelled_beside_another_waiter)
{
	if (XT_SANITIZED)
		XT_SKIP("a sanitizer loses track of a cancelled thread");

	struct victim victim = {.queue = xt_open()};
	struct victim stays = {.queue = victim.queue};
	struct xt_pair pipe = xt_pipe();

	XT_OK(xt_add(victim.queue, pipe.r, READ, XPOLL_CLEAR));
	struct xt_thread *thread = xt_start(victim_run, &stays);
	xt_asleep(thread);
	for (int i = 0; i < 50; i++)
		XT_CALL(cancel_one(&victim, i % 2));
	int64_t before = (int64_t)xt_stats(victim.queue).events;
	xt_put(pipe.w);
	/* Only the waiter that was not cancelled can take the event. */
	while ((int64_t)xt_stats(victim.queue).events == before)
		(void)poll(NULL, 0, 1);
	XT_EQ(pthread_cancel(xt_pthread(thread)), 0);
	xt_join(thread);
	XT_EQ(stays.got, 1);
}

/* Waits once, and is cancelled when the kernel may just have reported something to it. */
static void victim_once(void *argument)
{
	struct victim *victim = argument;
	struct xpoll_event event;

	(void)pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	atomic_store(&victim->inside, 1);
	victim->got = xpoll_event(victim->queue, NULL, 0, &event, 1, -1);
}

/*
 * Restrict this thread and those that it starts to one processor, so that a woken thread does not
 * run at once.
 */
static void share_a_processor(void)
{
#ifdef __linux__
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	(void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
#endif
}

/*
 * Data arrives and the thread is cancelled at the same time: either the thread has got the event,
 * or the next wait gets it.
 */
static void cancel_beside_data(struct victim *victim, struct xt_pair pipe)
{
	atomic_store(&victim->inside, 0);
	victim->got = -1;
	struct xt_thread *thread = xt_start(victim_once, victim);

	xt_until(&victim->inside, 1);
	xt_asleep(thread);
	xt_put(pipe.w);
	XT_EQ(pthread_cancel(xt_pthread(thread)), 0);
	xt_join(thread);
	xt_threads_reuse();
	if (victim->got == 1)
		victim->kind++;
	else
		XT_GETS(victim->queue, NULL, pipe.r, READ);
	XT_EQ(xt_get(pipe.r), 'x');
}

XT_TEST(hazard_20_event_of_a_cancelled_wait_is_not_lost)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_DISPATCH};

	if (XT_SANITIZED)
		XT_SKIP("a sanitizer loses track of a cancelled thread");
	share_a_processor();
	for (int i = 0; i < 3; i++) {
		struct victim victim = {.queue = xt_open_quiet()};
		struct xt_pair pipe = xt_pipe();

		XT_OK(xt_add(victim.queue, pipe.r, READ, modes[i]));
		for (int j = 0; j < 200; j++) {
			XT_CALL(cancel_beside_data(&victim, pipe));
			XT_OK(xt_flag(victim.queue, (uint64_t)pipe.r, READ, XPOLL_ENABLE));
		}
		xt_note("%d of 200 waits returned before they were cancelled", victim.kind);
	}
}

/* Changes and calls with timeout 0 are not cancellation points. */
static void not_a_point(void *argument)
{
	struct victim *victim = argument;
	struct xpoll_event event;
	int old;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	atomic_store(&victim->inside, 1);
	xt_until(&victim->inside, 2);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
	(void)XT_EXPECT_STATUS(xt_flag(victim->queue, 1, USER, XPOLL_ADD), 0);
	(void)XT_EXPECT_STATUS(xt_add(victim->queue, victim->kind, READ, 0), 0);
	(void)XT_EXPECT_STATUS(
	    xt_flag(victim->queue, (uint64_t)victim->kind, READ, XPOLL_DELETE),
	    0);
	(void)XT_EXPECT_EQ(xpoll_wake(victim->queue), 0);
	(void)XT_EXPECT_EQ(xpoll_lookup(victim->queue, 1, USER, &event), 0);
	victim->got = 1;
}

XT_TEST(hazard_20_changes_are_no_cancellation_points)
{
	struct victim victim = {.queue = xt_open(), .kind = xt_pipe().r};
	struct xt_thread *thread = xt_start(not_a_point, &victim);

	xt_until(&victim.inside, 1);
	XT_EQ(pthread_cancel(xt_pthread(thread)), 0);
	atomic_store(&victim.inside, 2);
	xt_join(thread);
	XT_EQ(victim.got, 1);
}

XT_TEST(cancelled_wait_no_longer_counts_as_idle)
{
	if (XT_SANITIZED)
		XT_SKIP("a sanitizer loses track of a cancelled thread");

	struct victim victim = {.queue = xt_open_flags(XPOLL_COUNT_IDLE)};

	for (int i = 0; i < 8; i++)
		XT_CALL(cancel_one(&victim, i % 4 != 0));
	uint64_t idle = xt_stats(victim.queue).idle_ns;
	XT_EXPECT(idle > 0);
	XT_EXPECT_EQ(xt_stats(victim.queue).idle_ns, idle);
}

static void wait_until_cancelled(void *argument)
{
	struct xpoll_event event;

	(void)pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	(void)xpoll_event(argument, NULL, 0, &event, 1, -1);
}

/* S7: a wait was cancelled, and before the next wait the descriptor was reused for a ready file. */
XT_TEST(hazard_01_cancelled_wait_whose_number_is_reused_is_silent)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_DISPATCH, XPOLL_ONESHOT};

	if (!xt_sees_reuse())
		XT_SKIP("this back end cannot tell a reopened number (S7)");
	if (XT_SANITIZED)
		XT_SKIP("a sanitizer loses track of a cancelled thread");
	for (int i = 0; i < 8; i++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair old = xt_socketpair(SOCK_STREAM);
		struct xt_pair new = xt_socketpair(SOCK_STREAM);
		struct xt_thread *thread;

		XT_OK(xt_add(queue, old.r, READ, modes[i % 4]));
		thread = xt_start(wait_until_cancelled, queue);
		xt_asleep(thread);
		XT_EQ(pthread_cancel(xt_pthread(thread)), 0);
		xt_join(thread);
		xt_threads_reuse();
		xt_put(new.w);
		if (!(i & 4))
			xt_close(old.r);
		xt_number(new.r, old.r);
		XT_NONE(queue);
		XT_NONE(queue);
		xt_destroy(queue);
	}
}
