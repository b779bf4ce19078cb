/*
 * Goal: each of many timers is delivered exactly once (S20, S11), also with
 * room for one event; a million timers; they need no descriptor each, and a
 * wait allocates no memory.
 * Method: a mark for each timer; timers that expire together, in any order, and
 * are deleted in any order.
 */
#include "xt.h"

enum {
	TIMER = XPOLL_FILT_TIMER,
	MILLION = XT_SANITIZED ? 100000 : 1000000,
	BATCH = 256,
};

#define NSECONDS XPOLL_NOTE_NSECONDS
#define HOUR_NS  (INT64_C(3600) * 1000000000)

static int add(struct xpoll *queue, uint64_t ident, int flags, int64_t ns)
{
	return xt_change(queue, ident, TIMER, XPOLL_ADD | flags, NSECONDS, ns,
	                 NULL);
}

/* Make many changes in one call. */
static bool change_all(struct xpoll *queue, int flags, const uint64_t *idents,
                       int count, int64_t first_ns, int64_t step_ns)
{
	struct xpoll_event changes[BATCH];

	for (int done = 0; done < count;) {
		int len = 0;

		for (; len < BATCH && done < count; len++, done++)
			(void)xpoll_set(&changes[len], idents[done], TIMER,
			                flags, NSECONDS,
			                first_ns + step_ns * done, NULL);
		if (!XT_EXPECT_EQ(xpoll_event(queue, changes, len, NULL, 0, 0),
		                  0))
			return false;
	}
	return true;
}

/* Take all expired timers; each must have the mark `wanted`, and is marked as done. */
static int take_all(struct xpoll *queue, unsigned char *marks, int room,
                    int64_t timeout_ns)
{
	struct xpoll_event events[BATCH];
	int total = 0;

	for (;;) {
		int count = xpoll_event(queue, NULL, 0, events, room,
		                        timeout_ns);

		if (!XT_EXPECT(count >= 0) || count == 0)
			return total;
		for (int i = 0; i < count; i++) {
			if (!XT_EXPECT_EQ(marks[events[i].ident], 1) ||
			    !XT_EXPECT_EQ(events[i].data, 1))
				return -1;
			marks[events[i].ident] = 2;
		}
		total += count;
	}
}

static void all_come_once(int room)
{
	enum { COUNT = 2000 };
	struct xpoll *queue = xt_open_quiet();
	static unsigned char marks[COUNT];
	int64_t now;

	memset(marks, 1, sizeof marks);
	for (int i = 0; i < COUNT; i++)
		XT_OK(add(queue, (uint64_t)i, XPOLL_ONESHOT,
		          1 + (i * 7919) % 1000));
	now = xt_now();
	while (xt_now() < now + 1000)
		continue;
	XT_EQ(take_all(queue, marks, room, 0), COUNT);
	XT_EQ(xt_stats(queue).registered, 0);
	xt_destroy(queue);
}

XT_TEST(expired_together_each_comes_once_whatever_the_room)
{
	XT_CALL(all_come_once(1));
	XT_CALL(all_come_once(7));
	XT_CALL(all_come_once(BATCH));
}

/* One call returns as many events as fit. */
XT_TEST(expired_together_fill_the_array)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event events[BATCH];

	for (int i = 0; i < 3 * BATCH; i++)
		XT_OK(add(queue, (uint64_t)i, XPOLL_ONESHOT, 0));
	for (int i = 0; i < 3; i++)
		XT_EQ(xpoll_event(queue, NULL, 0, events, BATCH, 0), BATCH);
	XT_EQ(xpoll_event(queue, NULL, 0, events, BATCH, 0), 0);
}

/* S11: a timer that is always due delays neither other events nor timers of the other clock. */
XT_TEST(busy_timers_starve_nobody)
{
	enum { BUSY = 20 };
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;
	bool readable = false;
	bool realtime = false;
	bool user = false;

	for (int i = 0; i < BUSY; i++)
		XT_OK(add(queue, (uint64_t)i, 0, 1));
	XT_OK(xt_change(queue, 100, TIMER, XPOLL_ADD, XPOLL_NOTE_ABSTIME, 0,
	                NULL));
	XT_OK(xt_flag(queue, 1, USER, XPOLL_ADD));
	XT_OK(xt_trigger(queue, 1));
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	xt_put(pipe.w);
	for (int i = 0; i < 16 * BUSY; i++) {
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 1);
		readable = readable || event.filter == READ;
		user = user || event.filter == USER;
		realtime = realtime || event.ident == 100;
	}
	XT_CHECK(readable && user && realtime);
}

static void shuffle(uint64_t *idents, int count)
{
	uint64_t seed = xt_seed();

	for (int i = 0; i < count; i++)
		idents[i] = (uint64_t)i;
	for (int i = count - 1; i > 0; i--) {
		int other = (int)(xt_random(&seed) % (uint32_t)(i + 1));
		uint64_t ident = idents[i];

		idents[i] = idents[other];
		idents[other] = ident;
	}
}

/* A timer that is armed again or deleted before it expires costs no system call. */
XT_TEST(armed_again_and_deleted_need_no_system_call)
{
	enum { TIMERS = 10, ROUNDS = 1000 };
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_stats before = xt_stats(queue), after;

	for (int i = 0; i < ROUNDS; i++)
		XT_OK(add(queue, (uint64_t)(i % TIMERS), XPOLL_ONESHOT, HOUR_NS + i));
	for (int i = 0; i < TIMERS; i++)
		XT_OK(xt_change(queue, (uint64_t)i, TIMER, XPOLL_DELETE, 0, 0, NULL));
	after = xt_stats(queue);
	XT_EQ(after.syscalls_change, before.syscalls_change);
	XT_EQ(after.syscalls_check, before.syscalls_check);
	XT_EQ(after.syscalls_wait, before.syscalls_wait);
	XT_EQ(after.syscalls_wake, before.syscalls_wake);
	XT_EQ(after.registered, 0);
}

/*
 * The timers are started in one order, half of them are deleted in another one, and the others
 * expire.
 */
XT_TEST(million_timers_are_armed_deleted_and_expire)
{
	struct xpoll *queue = xt_open_quiet();
	uint64_t *idents = malloc(MILLION * sizeof *idents);
	unsigned char *marks = malloc(MILLION);
	int open_before = xt_count_open();

	xt_watchdog(120);
	XT_CHECK(idents && marks);
	memset(marks, 1, MILLION);
	shuffle(idents, MILLION);
	XT_CHECK(change_all(queue, XPOLL_ADD | XPOLL_ONESHOT, idents, MILLION,
	                    HOUR_NS, 1000));
	XT_EQ(xt_stats(queue).registered, MILLION);
	XT_EQ(xt_count_open(), open_before);
	shuffle(idents, MILLION / 2);
	XT_CHECK(change_all(queue, XPOLL_DELETE, idents, MILLION / 2, 0, 0));
	for (int i = 0; i < MILLION / 2; i++)
		marks[i] = 0;
	XT_EQ(take_all(queue, marks, BATCH, 0), 0);
	/* Start the other half again, with a time that passes at once. */
	for (int i = 0; i < MILLION / 2; i++)
		idents[i] += MILLION / 2;
	XT_CHECK(change_all(queue, XPOLL_ADD, idents, MILLION / 2, 1, 0));
	XT_EQ(take_all(queue, marks, BATCH, 0), MILLION / 2);
	XT_EQ(xt_stats(queue).registered, 0);
	XT_EQ(xpoll_next_timeout(queue), -1);
	free(idents);
	free(marks);
}

XT_TEST(destroy_with_many_armed_and_expired_frees_all)
{
	struct xpoll *queue = xt_open_quiet();

	for (int i = 0; i < 10000; i++)
		XT_OK(add(queue, (uint64_t)i, 0, i % 2 ? HOUR_NS : 1));
	XT_EQ(xpoll_wait(queue, 0), 0);
	xt_destroy(queue);
}

/*
 * Expired timers are delivered in the order of their expirations, in whatever order they were
 * started.
 */
XT_TEST(expired_in_order_of_their_moments)
{
	enum { COUNT = 200 };
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event events[COUNT];
	int64_t base = xt_now();

	for (int i = 0; i < COUNT; i++) {
		int place = i * 77 % COUNT;

		XT_OK(xt_change(queue, (uint64_t)place, TIMER, XPOLL_ADD,
		                XPOLL_NOTE_MONOTONIC | NSECONDS, base + place,
		                NULL));
	}
	while (xt_now() < base + COUNT)
		continue;
	XT_EQ(xpoll_event(queue, NULL, 0, events, COUNT, 0), COUNT);
	for (int i = 0; i < COUNT; i++)
		XT_EQ(events[i].ident, i);
}

/*
 * Extend timers, like idle timeouts: each expires at its last deadline, in the order of deadlines.
 * At most two system calls for each timer, one of them a sleep, and one more for every 16 extended
 * timers.
 */
static void put_off(int count)
{
	struct xpoll *queue = xt_open_quiet();
	int64_t base = xt_now() + 10 * 1000000, last = base + 40 * 1000000;
	struct xpoll_stats before, after;
	struct xpoll_event event;

	for (int i = 0; i < count; i++)
		XT_OK(xt_change(queue, (uint64_t)i, TIMER, XPOLL_ADD | XPOLL_ONESHOT,
		                XPOLL_NOTE_MONOTONIC | NSECONDS, base + i, NULL));
	for (int i = count - 1; i >= 0; i--)
		XT_OK(xt_change(queue, (uint64_t)i, TIMER, XPOLL_ADD | XPOLL_ONESHOT,
		                XPOLL_NOTE_MONOTONIC | NSECONDS, last + (count - i) * 1000, NULL));
	before = xt_stats(queue);
	for (int i = count - 1; i >= 0; i--) {
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		XT_EQ(event.ident, i);
		XT_CHECK(xt_now() >= last + (count - i) * 1000);
	}
	after = xt_stats(queue);
	XT_CHECK(after.syscalls_wait - before.syscalls_wait <=
		 2 * (uint64_t)count + (uint64_t)count / 16);
	XT_EQ(after.registered, 0);
	xt_destroy(queue);
}

XT_TEST(put_off_comes_at_its_last_moment_and_ends_no_sleep_before)
{
	XT_CALL(put_off(1));
	XT_CALL(put_off(10));
	XT_CALL(put_off(300));
}

/*
 * Timers are extended and then moved back, or deleted while others are extended: the former
 * deadlines have no effect.
 */
XT_TEST(put_off_and_back_comes_at_the_earlier_moment)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;
	int64_t base = xt_now();

	for (uint64_t i = 0; i < 40; i++)
		XT_OK(add(queue, i, XPOLL_ONESHOT, HOUR_NS / 2));
	for (uint64_t i = 0; i < 40; i++)
		XT_OK(add(queue, i, XPOLL_ONESHOT, HOUR_NS));
	for (uint64_t i = 0; i < 40; i += 2)
		XT_OK(xt_change(queue, i, TIMER, XPOLL_DELETE, 0, 0, NULL));
	XT_OK(add(queue, 21, XPOLL_ONESHOT, 1000000));
	XT_GETS(queue, &event, 21, TIMER);
	XT_CHECK(xt_now() >= base + 1000000);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	/* The next timer expires in an hour, less the time that has passed. */
	XT_CHECK(xpoll_next_timeout(queue) > HOUR_NS / 2 - (xt_now() - base));
	XT_EQ(xt_stats(queue).registered, 19);
}

/* Extended timers take no room in a call, so an expired one is delivered at once. */
XT_TEST(expired_one_comes_at_once_beside_many_that_were_put_off)
{
	enum { COUNT = 300 };
	struct xpoll *queue = xt_open_quiet();
	int64_t base = xt_now();
	struct xpoll_event events[4];

	for (int i = 0; i < COUNT; i++)
		XT_OK(xt_change(queue, (uint64_t)i, TIMER, XPOLL_ADD | XPOLL_ONESHOT,
		                XPOLL_NOTE_MONOTONIC | NSECONDS, base + i, NULL));
	for (int i = COUNT - 1; i >= 0; i--)
		XT_OK(add(queue, (uint64_t)i, XPOLL_ONESHOT, HOUR_NS));
	XT_OK(xt_change(queue, COUNT, TIMER, XPOLL_ADD | XPOLL_ONESHOT,
	                XPOLL_NOTE_MONOTONIC | NSECONDS, base + COUNT, NULL));
	XT_OK(xt_change(queue, 0, XPOLL_FILT_USER, XPOLL_ADD, XPOLL_NOTE_TRIGGER, 0, NULL));
	while (xt_now() <= base + COUNT)
		continue;
	XT_EQ(xpoll_event(queue, NULL, 0, events, 4, 0), 2);
	XT_CHECK(xt_find(events, 2, COUNT, TIMER) >= 0);
	xt_destroy(queue);
}
