/*
 * Goal: timers (S20) of every unit and clock are never early, are counted
 * without loss or drift, and restart only by ADD; invalid ones are refused.
 * Method: the clock is the oracle.  The test reads it before and after a timer
 * is started, and before and after an event is taken; this bounds the correct
 * results on both sides, however slow the machine is.
 */
#include "xt.h"

#include <time.h>

enum { TIMER = XPOLL_FILT_TIMER };

#define SECONDS  XPOLL_NOTE_SECONDS
#define MSECONDS XPOLL_NOTE_MSECONDS
#define USECONDS XPOLL_NOTE_USECONDS
#define NSECONDS XPOLL_NOTE_NSECONDS
#define ABSTIME  XPOLL_NOTE_ABSTIME

#define HOUR_NS (INT64_C(3600) * 1000000000)

static const struct unit {
	uint32_t fflags;
	int64_t ns;
} units[] = {
	{0, 1000000},         {SECONDS, 1000000000}, {MSECONDS, 1000000},
	{USECONDS, 1000},     {NSECONDS, 1},
};

#define UNITS ((int)(sizeof units / sizeof *units))

static int timer(struct xpoll *queue, int flags, uint32_t fflags, int64_t data)
{
	return xt_change(queue, 1, TIMER, flags, fflags, data, NULL);
}

static int64_t realtime(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Wait until the clock has passed this time. */
static void pass(int64_t moment_ns)
{
	while (xt_now() <= moment_ns)
		continue;
}

XT_TEST(oneshot_of_each_unit_is_not_early)
{
	static const struct unit spans[] = {
		{0, 3}, {MSECONDS, 2}, {USECONDS, 1700}, {NSECONDS, 1234567},
		{SECONDS, 1},
	};
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	for (int i = 0; i < 5; i++) {
		int64_t ns = spans[i].ns;

		for (int j = 0; j < UNITS; j++)
			if (units[j].fflags == spans[i].fflags)
				ns *= units[j].ns;
		int64_t start = xt_now();
		XT_OK(timer(queue, XPOLL_ADD | XPOLL_ONESHOT, spans[i].fflags,
		            spans[i].ns));
		XT_GETS(queue, &event, 1, TIMER);
		XT_CHECK(xt_now() - start >= ns);
		XT_EXPECT_EQ(event.data, 1);
		XT_EXPECT_EQ(event.fflags, 0);
		XT_EXPECT_EQ(event.flags & (XPOLL_EOF | XPOLL_ERROR), 0);
		XT_STATUS(xt_flag(queue, 1, TIMER, XPOLL_DELETE), ENOENT);
	}
	XT_NONE(queue);
}

XT_TEST(next_timeout_of_each_unit_is_what_is_left)
{
	struct xpoll *queue = xt_open();

	XT_EQ(xpoll_next_timeout(queue), -1);
	for (int i = 0; i < UNITS; i++) {
		int64_t before = xt_now();

		XT_OK(timer(queue, XPOLL_ADD, units[i].fflags,
		            HOUR_NS / units[i].ns));
		int64_t armed = xt_now();

		/* Let some time pass, so that less is left. */
		pass(armed);
		int64_t left = xpoll_next_timeout(queue);
		XT_CHECK(left < HOUR_NS);
		XT_CHECK(left >= HOUR_NS - (xt_now() - before));
	}
	XT_OK(xt_flag(queue, 1, TIMER, XPOLL_DELETE));
	XT_EQ(xpoll_next_timeout(queue), -1);
}

XT_TEST(next_timeout_is_that_of_the_earliest)
{
	struct xpoll *queue = xt_open();
	int64_t start = xt_now();

	for (int i = 5; i >= 1; i--) {
		XT_OK(xt_change(queue, (uint64_t)i, TIMER, XPOLL_ADD, SECONDS,
		                i * 1000, NULL));
		XT_CHECK(xpoll_next_timeout(queue) <=
		         i * INT64_C(1000000000000));
	}
	for (int i = 1; i <= 5; i++) {
		int64_t left = xpoll_next_timeout(queue);

		XT_CHECK(left <= i * INT64_C(1000000000000));
		XT_CHECK(left >= i * INT64_C(1000000000000) -
		         (xt_now() - start));
		XT_OK(xt_flag(queue, (uint64_t)i, TIMER, XPOLL_DELETE));
	}
	XT_EQ(xpoll_next_timeout(queue), -1);
}

XT_TEST(next_timeout_of_an_expired_timer_is_zero_until_taken)
{
	struct xpoll *queue = xt_open();

	XT_OK(timer(queue, XPOLL_ADD | XPOLL_ONESHOT, NSECONDS, 1));
	pass(xt_now() + 1);
	XT_EQ(xpoll_next_timeout(queue), 0);
	/* The poll-like level detects that the timer has expired, and leaves its event pending. */
	XT_EQ(xpoll_wait(queue, 0), 0);
	XT_EQ(xpoll_next_timeout(queue), 0);
	XT_GETS(queue, NULL, 1, TIMER);
	XT_EQ(xpoll_next_timeout(queue), -1);
}

XT_TEST(zero_fires_at_once)
{
	static const int once[] = {XPOLL_ONESHOT, XPOLL_ONESHOT | XPOLL_CLEAR};
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	for (int i = 0; i < UNITS; i++)
		for (int j = 0; j < 2; j++) {
			XT_OK(timer(queue, XPOLL_ADD | once[j],
			            units[i].fflags, 0));
			XT_EQ(xpoll_next_timeout(queue), 0);
			XT_EQ(xt_take(queue, &event, 1, 0), 1);
			XT_EXPECT_EQ(event.data, 1);
			XT_NONE(queue);
		}
}

/* As in FreeBSD, a period of 0 counts as one unit. */
XT_TEST(zero_as_a_period_is_one_unit)
{
	struct xpoll *queue = xt_open();
	int64_t start = xt_now();

	XT_OK(timer(queue, XPOLL_ADD, SECONDS, 0));
	XT_GETS(queue, NULL, 1, TIMER);
	int64_t left = xpoll_next_timeout(queue);
	XT_CHECK(left <= 1000000000);
	XT_CHECK(left >= 1000000000 - (xt_now() - start));
}

/* The sum of the delivered counts is the number of periods that have passed. */
static void counts_all(int64_t period_ns, int rounds)
{
	struct xpoll *queue = xt_open_quiet();
	int64_t before = xt_now();
	struct xpoll_event event;
	int64_t sum = 0;

	XT_OK(timer(queue, XPOLL_ADD, NSECONDS, period_ns));
	int64_t after = xt_now();
	for (int i = 0; i < rounds; i++) {
		if (i % 3 == 1)
			pass(xt_now() + 5 * period_ns / 2);
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
		XT_CHECK(event.data >= 1);
		sum += event.data;
		/*
		 * The sum is never too high, and once a wait has checked the timer, never too low.
		 */
		XT_CHECK(sum <= (xt_now() - before) / period_ns);
	}
	pass(xt_now() + period_ns);
	int64_t seen = xt_now();
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 1);
	sum += event.data;
	XT_CHECK(sum >= (seen - after) / period_ns);
	XT_CHECK(sum <= (xt_now() - before) / period_ns);
	xt_destroy(queue);
}

/* Complaint: Timers drift, cannot be modified, ignore a clock that is set. */
XT_TEST(periodic_counts_every_period_and_does_not_drift)
{
	XT_SINGLE_ONLY();
	XT_CALL(counts_all(1, 100));
	XT_CALL(counts_all(997, 100));
	XT_CALL(counts_all(50000, 100));
	XT_CALL(counts_all(1000000, 50));
	XT_CALL(counts_all(7654321, 20));
}

/* Expirations stay at multiples of the period, counted from the first one. */
XT_TEST(periodic_moments_keep_their_phase)
{
	XT_SINGLE_ONLY();
	struct xpoll *queue = xt_open_quiet();
	int64_t period = 3000000;
	int64_t before = xt_now();
	struct xpoll_event event;
	int64_t sum = 0;

	XT_OK(timer(queue, XPOLL_ADD, NSECONDS, period));
	int64_t after = xt_now();
	for (int i = 0; i < 30; i++) {
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
		sum += event.data;
		int64_t early = xt_now();
		int64_t left = xpoll_next_timeout(queue);
		int64_t late = xt_now();

		/* The next expiration is number sum + 1. */
		XT_CHECK(late + left >= before + (sum + 1) * period);
		if (left > 0)
			XT_CHECK(early + left <= after + (sum + 1) * period);
	}
}

XT_TEST(bad_timers_are_einval_and_change_nothing)
{
	static const struct bad {
		uint32_t fflags;
		int64_t data;
	} bad[] = {
		{0, -1}, {0, INT64_MIN}, {NSECONDS, -1}, {ABSTIME, -1},
		{SECONDS | MSECONDS, 1}, {USECONDS | NSECONDS, 1},
		{SECONDS | MSECONDS | USECONDS | NSECONDS, 1},
		{0x40, 1}, {0x80000000u, 1}, {UINT32_MAX, 1},
	};
	struct xpoll *queue = xt_open();
	struct xpoll_event now;

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
			XT_STATUS(timer(queue, XPOLL_ADD, bad[i].fflags,
			                bad[i].data), EINVAL);
		if (round == 0) {
			XT_FAILS(xpoll_lookup(queue, 1, TIMER, &now), ENOENT);
			XT_EQ(xpoll_next_timeout(queue), -1);
			XT_OK(timer(queue, XPOLL_ADD, SECONDS, 3600));
			continue;
		}
		XT_EQ(xpoll_lookup(queue, 1, TIMER, &now), 0);
		XT_EXPECT_EQ(now.fflags, SECONDS);
		XT_EXPECT_EQ(now.data, 3600);
		XT_CHECK(xpoll_next_timeout(queue) > HOUR_NS / 2);
	}
}

XT_TEST(what_is_not_there_is_enoent)
{
	struct xpoll *queue = xt_open();

	XT_STATUS(timer(queue, XPOLL_DELETE, 0, 0), ENOENT);
	XT_STATUS(timer(queue, XPOLL_ENABLE, 0, 0), ENOENT);
	XT_STATUS(timer(queue, XPOLL_DISABLE, 0, 0), ENOENT);
	XT_STATUS(timer(queue, 0, NSECONDS, 1), EINVAL);
}

XT_TEST(huge_timers_do_not_fire)
{
	static const uint32_t abstime[] = {0, ABSTIME, XPOLL_NOTE_MONOTONIC};
	struct xpoll *queue = xt_open();
	struct xpoll_event now;

	for (int i = 0; i < UNITS; i++)
		for (int j = 0; j < 3; j++) {
			uint32_t fflags = units[i].fflags | abstime[j];

			XT_OK(timer(queue, XPOLL_ADD, fflags, INT64_MAX));
			XT_NONE(queue);
			XT_OK(timer(queue, XPOLL_ADD, fflags,
			            INT64_MAX / units[i].ns));
			XT_NONE(queue);
			/* On the BSDs nothing reports that the clock was set. */
			XT_CHECK(xpoll_next_timeout(queue) == -1 ||
			         xpoll_next_timeout(queue) > HOUR_NS ||
			         (fflags & ABSTIME && xt_kqueue()));
			XT_EQ(xpoll_lookup(queue, 1, TIMER, &now), 0);
			XT_EXPECT_EQ(now.data, INT64_MAX / units[i].ns);
		}
}

XT_TEST(abstime_is_not_early_and_fires_once)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	for (int i = 0; i < 3; i++) {
		uint32_t clock = i == 0 ? ABSTIME
			: i == 1 ? XPOLL_NOTE_MONOTONIC
			: ABSTIME | XPOLL_NOTE_MONOTONIC;
		int64_t (*now)(void) = i == 0 ? realtime : xt_now;
		int64_t moment = now() + 2000000;

		XT_OK(timer(queue, XPOLL_ADD, clock | NSECONDS, moment));
		XT_GETS(queue, &event, 1, TIMER);
		XT_CHECK(now() >= moment);
		XT_EXPECT_EQ(event.data, 1);
		XT_EQ(xpoll_next_timeout(queue), -1);
		XT_NONE(queue);
		/* The timer still exists, but delivers nothing. */
		XT_OK(timer(queue, XPOLL_ENABLE, 0, 0));
		XT_NONE(queue);
		XT_OK(timer(queue, XPOLL_DELETE, 0, 0));
	}
}

XT_TEST(abstime_in_the_past_fires_at_once)
{
	struct xpoll *queue = xt_open();
	int64_t past[] = {0, 1, 0};
	struct xpoll_event event;

	for (int i = 0; i < UNITS; i++) {
		past[2] = (realtime() - 1) / units[i].ns;
		for (int j = 0; j < 3; j++) {
			XT_OK(timer(queue, XPOLL_ADD,
			            ABSTIME | units[i].fflags, past[j]));
			XT_EQ(xt_take(queue, &event, 1, 0), 1);
			XT_EXPECT_EQ(event.data, 1);
			XT_NONE(queue);
		}
	}
}

XT_TEST(abstime_next_timeout_is_what_is_left)
{
	struct xpoll *queue = xt_open();
	int64_t moment = realtime() + HOUR_NS;
	int64_t before = realtime();

	XT_OK(timer(queue, XPOLL_ADD, ABSTIME | NSECONDS, moment));
	int64_t left = xpoll_next_timeout(queue);
	/* The two clocks may round a nanosecond differently. */
	XT_CHECK(left <= moment - before + 1);
	XT_CHECK(left >= moment - realtime() - 1 || xt_kqueue());
}

/* Complaint: Timers drift, cannot be modified, ignore a clock that is set. */
XT_TEST(modify_starts_anew)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	/* The timer is extended and shortened, relative and absolute, on both clocks. */
	XT_OK(timer(queue, XPOLL_ADD, SECONDS, 3600));
	XT_NONE(queue);
	XT_OK(timer(queue, XPOLL_ADD, USECONDS, 100));
	XT_GETS(queue, &event, 1, TIMER);
	XT_OK(timer(queue, XPOLL_ADD, SECONDS, 3600));
	XT_NONE(queue);
	XT_CHECK(xpoll_next_timeout(queue) > HOUR_NS / 2);
	XT_OK(timer(queue, XPOLL_ADD, ABSTIME, 0));
	XT_GETS(queue, &event, 1, TIMER);
	XT_OK(timer(queue, XPOLL_ADD, ABSTIME | NSECONDS,
	            realtime() + HOUR_NS));
	XT_NONE(queue);
	XT_OK(timer(queue, XPOLL_ADD | XPOLL_ONESHOT, NSECONDS, 1));
	XT_GETS(queue, &event, 1, TIMER);
	XT_STATUS(timer(queue, XPOLL_DELETE, 0, 0), ENOENT);
	XT_EQ(xpoll_next_timeout(queue), -1);
}

/* As in FreeBSD, a modified timer drops earlier expirations. */
XT_TEST(modify_drops_what_had_expired)
{
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 2; i++) {
		XT_OK(timer(queue, XPOLL_ADD, NSECONDS, 1));
		pass(xt_now() + 1000);
		/*
		 * In one case the poll-like level has found the timer expired, without taking its
		 * event.
		 */
		if (i == 1)
			XT_EQ(xpoll_wait(queue, 0), 0);
		XT_OK(timer(queue, XPOLL_ADD, SECONDS, 3600));
		XT_NONE(queue);
	}
}

XT_TEST(modify_sets_udata_unless_kept)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	int a = 0;
	int b = 0;

	XT_OK(xt_change(queue, 1, TIMER, XPOLL_ADD, SECONDS, 3600, &a));
	XT_OK(xt_change(queue, 1, TIMER, XPOLL_ADD | XPOLL_KEEPUDATA, ABSTIME,
	                0, &b));
	XT_GETS(queue, &event, 1, TIMER);
	XT_CHECK(event.udata == &a);
	XT_OK(xt_change(queue, 1, TIMER, XPOLL_ADD, ABSTIME, 0, &b));
	XT_GETS(queue, &event, 1, TIMER);
	XT_CHECK(event.udata == &b);
}

XT_TEST(lookup_tells_what_was_asked)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event now;

	XT_OK(timer(queue, XPOLL_ADD | XPOLL_DISPATCH, USECONDS, 1));
	XT_GETS(queue, NULL, 1, TIMER);
	XT_EQ(xpoll_lookup(queue, 1, TIMER, &now), 0);
	XT_EXPECT_EQ(now.flags, XPOLL_CLEAR | XPOLL_DISPATCH | XPOLL_DISABLE);
	XT_EXPECT_EQ(now.fflags, USECONDS);
	XT_EXPECT_EQ(now.data, 1);
}

XT_TEST(supports_one_unit_at_a_time)
{
	struct xpoll *queue = xt_open();

	for (int i = 0; i < UNITS; i++) {
		XT_EQ(xpoll_supports(queue, TIMER, units[i].fflags), 1);
		XT_EQ(xpoll_supports(queue, TIMER, units[i].fflags | ABSTIME |
		                     XPOLL_NOTE_MONOTONIC), 1);
	}
	XT_EQ(xpoll_supports(queue, TIMER, SECONDS | MSECONDS), 0);
	XT_EQ(xpoll_supports(queue, TIMER, 0x40), 0);
}
