/*
 * Goal: a wait never ends before its deadline, not even by rounding, and
 * returns 0 only then (S15).
 * Method: the monotonic clock before and after waits of 1 ns to 1.5 s, on quiet
 * queues and on queues that are busy with reports that they must not deliver.
 * The tests do not check lateness, which depends on the machine.
 */
#include "xt.h"

#include <limits.h>
#include <sched.h>

/* Make a wait that has to time out, and check that it is not early. */
static void times_out(struct xpoll *queue, int64_t timeout_ns)
{
	struct xpoll_event event;
	int64_t start = xt_now();

	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, timeout_ns), 0);
	int64_t passed = xt_now() - start;
	if (passed < timeout_ns)
		xt_fail(__FILE__, __LINE__, "%jd ns took only %jd",
		        (intmax_t)timeout_ns, (intmax_t)passed);
}

static void times_out_ms(struct xpoll *queue, int timeout_ms)
{
	int64_t start = xt_now();

	XT_EQ(xpoll_wait(queue, timeout_ms), 0);
	XT_CHECK(xt_now() - start >= (int64_t)timeout_ms * 1000000);
	XT_EQ(xpoll_revents(queue, NULL), 0);
}

XT_TEST(timeout_1_ns_is_not_early)
{
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 100; i++)
		XT_CALL(times_out(queue, 1));
}

/* Complaint: Timeouts are cut to milliseconds: spinning, or too late. */
XT_TEST(timeout_300_us_is_not_early)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	for (int i = 0; i < 50; i++)
		XT_CALL(times_out(queue, 300000));
}

XT_TEST(timeout_of_more_than_a_second_is_not_early)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_CALL(times_out(queue, INT64_C(1010000000)));
}

XT_TEST(timeout_random_is_not_early)
{
	struct xpoll *queue = xt_open();
	uint64_t seed = xt_seed();

	for (int i = 0; i < 200; i++)
		XT_CALL(times_out(queue, xt_random(&seed) % 2500000));
}

XT_TEST(timeout_just_above_a_millisecond_is_not_early)
{
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 20; i++) {
		XT_CALL(times_out(queue, 999999));
		XT_CALL(times_out(queue, 1000001));
		XT_CALL(times_out(queue, 1999999));
	}
}

XT_TEST(timeout_0_only_looks)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	for (int i = 0; i < 1000; i++)
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	XT_EQ(xpoll_wait(queue, 0), 0);
}

XT_TEST(timeout_ms_is_not_early)
{
	struct xpoll *queue = xt_open();

	for (int ms = 0; ms < 8; ms++)
		XT_CALL(times_out_ms(queue, ms));
}

/* A thread that ends another thread's wait. */
struct ender {
	struct xpoll *queue;
	struct xt_thread *sleeper;
	struct xt_pair pipe;
	int64_t timeout_ns;
	int timeout_ms;
	int rc;
	struct xpoll_event event;
};

static void wait_long(void *argument)
{
	struct ender *ender = argument;

	ender->rc = xpoll_event(ender->queue, NULL, 0, &ender->event, 1,
	                        ender->timeout_ns);
}

static void wait_long_ms(void *argument)
{
	struct ender *ender = argument;

	ender->rc = xpoll_wait(ender->queue, ender->timeout_ms);
}

XT_TEST(timeout_huge_or_negative_waits_until_an_event)
{
	static const int64_t timeouts[] = {
	    -1, INT64_MIN, INT64_MAX, INT64_MAX - 1,
	    INT64_C(1000000) * INT_MAX, INT64_C(4294967296) * 1000000,
	    INT64_C(9000000000000000000)};

	for (size_t i = 0; i < sizeof timeouts / sizeof *timeouts; i++) {
		struct ender ender = {.queue = xt_open(),
		                      .pipe = xt_pipe(),
		                      .timeout_ns = timeouts[i]};

		XT_OK(xt_add(ender.queue, ender.pipe.r, READ, 0));
		ender.sleeper = xt_start(wait_long, &ender);
		xt_asleep(ender.sleeper);
		xt_put(ender.pipe.w);
		xt_join(ender.sleeper);
		XT_EQ(ender.rc, 1);
		XT_EXPECT_EQ(ender.event.ident, ender.pipe.r);
		xt_destroy(ender.queue);
	}
}

XT_TEST(timeout_int_max_ms_waits_until_an_event)
{
	static const int timeouts[] = {-1, INT_MIN, INT_MAX, INT_MAX - 1,
	                               2147484};

	for (size_t i = 0; i < sizeof timeouts / sizeof *timeouts; i++) {
		struct ender ender = {.queue = xt_open(),
		                      .pipe = xt_pipe(),
		                      .timeout_ms = timeouts[i]};

		XT_OK(xt_add(ender.queue, ender.pipe.r, READ, 0));
		ender.sleeper = xt_start(wait_long_ms, &ender);
		xt_asleep(ender.sleeper);
		xt_put(ender.pipe.w);
		xt_join(ender.sleeper);
		XT_EQ(ender.rc, 1);
		xt_destroy(ender.queue);
	}
}

/* A thread that causes events of a disabled direction all the time. */
struct pest {
	struct xt_pair pair;
	atomic_int stop;
};

static void pester(void *argument)
{
	struct pest *pest = argument;

	while (!atomic_load(&pest->stop)) {
		xt_put(pest->pair.w);
		(void)xt_get(pest->pair.r);
		(void)sched_yield();
	}
}

/* Complaint: Timeouts are cut to milliseconds: spinning, or too late. */
XT_TEST(timeout_with_fruitless_wakeups_is_not_early)
{
	struct xpoll *queue = xt_open();
	struct pest pest = {.pair = xt_socketpair(SOCK_STREAM)};
	uint64_t ident = (uint64_t)pest.pair.r;

	XT_OK(xt_add(queue, pest.pair.r, READ, 0));
	if (xt_has_except())
		XT_OK(xt_add(queue, pest.pair.r, EXCEPT, 0));
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
	struct xt_thread *thread = xt_start(pester, &pest);
	for (int i = 0; i < 20 && !xt_failures(); i++)
		times_out(queue, 2000000);
	atomic_store(&pest.stop, 1);
	xt_join(thread);
}

/* Other threads make changes that this wait has to handle, and no registration becomes ready. */
struct changer {
	struct xpoll *queue;
	struct xt_pair pair;
	atomic_int stop;
};

static void change_all_the_time(void *argument)
{
	struct changer *changer = argument;
	uint64_t ident = (uint64_t)changer->pair.r;

	while (!atomic_load(&changer->stop)) {
		(void)xt_flag(changer->queue, ident, READ, XPOLL_ENABLE);
		(void)xt_flag(changer->queue, ident, READ, XPOLL_DISABLE);
		(void)sched_yield();
	}
}

XT_TEST(timeout_while_others_change_is_not_early)
{
	struct changer changer = {.queue = xt_open(), .pair = xt_pipe()};

	XT_OK(xt_add(changer.queue, changer.pair.r, READ, 0));
	struct xt_thread *thread = xt_start(change_all_the_time, &changer);
	for (int i = 0; i < 20 && !xt_failures(); i++)
		times_out(changer.queue, 2000000);
	atomic_store(&changer.stop, 1);
	xt_join(thread);
}

/* At the poll-like level pending events of sources neither end nor shorten a wait. */
XT_TEST(timeout_ms_with_user_event_pending_is_not_early)
{
	struct xpoll *queue = xt_open();

	XT_OK(xt_flag(queue, 1, USER, XPOLL_ADD));
	XT_OK(xt_trigger(queue, 1));
	for (int i = 0; i < 5; i++)
		XT_CALL(times_out_ms(queue, 3));
	XT_GETS(queue, NULL, 1, USER);
}
