/*
 * Goal: timers with ONESHOT, DISPATCH, DISABLE, ENABLE, DELETE; ENABLE does not
 * restart a timer, and expirations while it is disabled are counted.
 * Method: timers of a nanosecond have expired as soon as the clock moves, and
 * timers of an hour do not expire: no test waits for time to pass.
 */
#include "xt.h"

enum { TIMER = XPOLL_FILT_TIMER };

#define NSECONDS XPOLL_NOTE_NSECONDS
#define SECONDS  XPOLL_NOTE_SECONDS
#define HOUR_NS  (INT64_C(3600) * 1000000000)

static int timer(struct xpoll *queue, int flags, uint32_t fflags, int64_t data)
{
	return xt_change(queue, 1, TIMER, flags, fflags, data, NULL);
}

/* Wait until a timer of one nanosecond has expired. */
static void tick(void)
{
	int64_t now = xt_now();

	while (xt_now() <= now + 1)
		continue;
}

XT_TEST(oneshot_periodic_count_is_one_and_it_is_gone)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	XT_OK(timer(queue, XPOLL_ADD | XPOLL_ONESHOT, NSECONDS, 1));
	tick();
	XT_GETS(queue, &event, 1, TIMER);
	XT_EXPECT_EQ(event.data, 1);
	XT_NONE(queue);
	XT_STATUS(timer(queue, XPOLL_ENABLE, 0, 0), ENOENT);
}

/* A later ADD may set the mode. */
XT_TEST(oneshot_added_to_a_periodic_one_ends_it)
{
	struct xpoll *queue = xt_open();

	XT_OK(timer(queue, XPOLL_ADD, SECONDS, 3600));
	XT_OK(timer(queue, XPOLL_ADD | XPOLL_ONESHOT, NSECONDS, 1));
	XT_GETS(queue, NULL, 1, TIMER);
	XT_STATUS(timer(queue, XPOLL_DELETE, 0, 0), ENOENT);
}

XT_TEST(dispatch_is_told_once_until_enabled)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	int64_t total = 0;
	int64_t start = xt_now();

	XT_OK(timer(queue, XPOLL_ADD | XPOLL_DISPATCH, NSECONDS, 1));
	for (int i = 0; i < 20; i++) {
		XT_GETS(queue, &event, 1, TIMER);
		total += event.data;
		XT_CHECK(event.data >= 1);
		tick();
		XT_NONE(queue);
		XT_EQ(xpoll_next_timeout(queue), -1);
		XT_OK(timer(queue, XPOLL_ENABLE, 0, 0));
		XT_EQ(xpoll_next_timeout(queue), 0);
	}
	/* The count includes the periods while the timer was disabled, and never more. */
	XT_CHECK(total <= xt_now() - start);
	XT_OK(timer(queue, XPOLL_DISABLE, 0, 0));
	XT_NONE(queue);
}

XT_TEST(dispatch_abstime_is_told_once_for_good)
{
	struct xpoll *queue = xt_open();

	XT_OK(timer(queue, XPOLL_ADD | XPOLL_DISPATCH, XPOLL_NOTE_ABSTIME, 0));
	XT_GETS(queue, NULL, 1, TIMER);
	XT_OK(timer(queue, XPOLL_ENABLE, 0, 0));
	XT_NONE(queue);
	XT_OK(timer(queue, XPOLL_ADD, XPOLL_NOTE_ABSTIME, 0));
	XT_GETS(queue, NULL, 1, TIMER);
}

XT_TEST(added_disabled_is_silent_and_counts_all_when_enabled)
{
	struct xpoll *queue = xt_open();
	int64_t before = xt_now();
	struct xpoll_event event;

	/* DISPATCH: the timer is delivered once, so that one event has the whole count. */
	XT_OK(timer(queue, XPOLL_ADD | XPOLL_DISABLE | XPOLL_DISPATCH, NSECONDS,
	            1000));
	int64_t after = xt_now();
	while (xt_now() < after + 50000)
		continue;
	XT_NONE(queue);
	XT_EQ(xpoll_next_timeout(queue), -1);
	int64_t enabled = xt_now();
	XT_OK(timer(queue, XPOLL_ENABLE, 0, 0));
	XT_EQ(xt_take(queue, &event, 1, 0), 1);
	XT_CHECK(event.data >= (enabled - after) / 1000);
	XT_CHECK(event.data <= (xt_now() - before) / 1000);
}

XT_TEST(enable_does_not_start_anew)
{
	struct xpoll *queue = xt_open();

	XT_OK(timer(queue, XPOLL_ADD, SECONDS, 3600));
	for (int i = 0; i < 10; i++) {
		int64_t left = xpoll_next_timeout(queue);

		if (i % 2)
			XT_OK(timer(queue, XPOLL_DISABLE, 0, 0));
		tick();
		/* ENABLE ignores `data` and units. */
		XT_OK(timer(queue, XPOLL_ENABLE, i % 3 ? 0 : NSECONDS, -1));
		XT_CHECK(xpoll_next_timeout(queue) < left);
	}
	XT_NONE(queue);
}

XT_TEST(disabled_after_it_expired_is_silent_until_enabled)
{
	static const int modes[] = {0, XPOLL_ONESHOT, XPOLL_DISPATCH,
	                            XPOLL_CLEAR};
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	for (int i = 0; i < 8; i++) {
		XT_OK(timer(queue, XPOLL_ADD | XPOLL_ENABLE | modes[i % 4],
		            NSECONDS, 1));
		tick();
		/*
		 * In some cases the library has detected the expiration before DISABLE, in others
		 * not.
		 */
		if (i >= 4)
			XT_EQ(xpoll_wait(queue, 0), 0);
		XT_OK(timer(queue, XPOLL_DISABLE, 0, 0));
		XT_NONE(queue);
		XT_EQ(xpoll_next_timeout(queue), -1);
		XT_OK(timer(queue, XPOLL_ENABLE, 0, 0));
		XT_EQ(xt_take(queue, &event, 1, 0), 1);
		(void)timer(queue, XPOLL_DELETE, 0, 0);
	}
}

/* S1: ADD of a disabled timer leaves it disabled. */
XT_TEST(add_on_a_disabled_one_leaves_it_silent)
{
	struct xpoll *queue = xt_open();

	XT_OK(timer(queue, XPOLL_ADD | XPOLL_DISABLE, SECONDS, 3600));
	XT_OK(timer(queue, XPOLL_ADD, NSECONDS, 1));
	tick();
	XT_NONE(queue);
	XT_OK(timer(queue, XPOLL_ENABLE, 0, 0));
	XT_GETS(queue, NULL, 1, TIMER);
	XT_OK(timer(queue, XPOLL_ADD | XPOLL_DISABLE, NSECONDS, 1));
	tick();
	XT_NONE(queue);
	XT_OK(timer(queue, XPOLL_ADD | XPOLL_ENABLE, SECONDS, 3600));
	XT_NONE(queue);
	XT_CHECK(xpoll_next_timeout(queue) > HOUR_NS / 2);
}

XT_TEST(deleted_is_silent)
{
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 4; i++) {
		XT_OK(timer(queue, XPOLL_ADD, NSECONDS, i % 2 ? 1 : HOUR_NS));
		tick();
		if (i >= 2)
			XT_EQ(xpoll_wait(queue, 0), 0);
		XT_OK(timer(queue, XPOLL_DELETE, 0, 0));
		XT_NONE(queue);
		XT_EQ(xpoll_next_timeout(queue), -1);
		XT_STATUS(timer(queue, XPOLL_DELETE, 0, 0), ENOENT);
	}
}

/* S5: the changes of one call are made in order. */
XT_TEST(changes_of_one_call_are_applied_in_order)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event list[5];

	for (int i = 0; i < 5; i++)
		(void)xpoll_set(&list[i], 1, TIMER, XPOLL_ADD, NSECONDS, 1,
		                NULL);
	list[1].flags = XPOLL_DELETE;
	list[2].data = HOUR_NS;
	list[3].data = -1;
	list[3].flags |= XPOLL_RECEIPT;
	list[4].flags = XPOLL_DISABLE | XPOLL_RECEIPT;
	XT_EQ(xpoll_event(queue, list, 5, list, 5, -1), 2);
	XT_EXPECT_EQ(list[0].data, EINVAL);
	XT_EXPECT_EQ(list[1].data, 0);
	XT_EXPECT_EQ(list[0].flags, XPOLL_ERROR);
	XT_NONE(queue);
	XT_OK(timer(queue, XPOLL_ENABLE, 0, 0));
	XT_NONE(queue);
}

XT_TEST(idents_may_be_any_number_and_do_not_mix_with_others)
{
	static const uint64_t idents[] = {
		0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63,
		UINT64_C(0xffffffff), UINT64_C(0x100000000)};
	struct xpoll *queue = xt_open();
	struct xpoll_event events[16];

	for (int i = 0; i < 7; i++) {
		XT_OK(xt_change(queue, idents[i], TIMER,
		                XPOLL_ADD | XPOLL_ONESHOT, 0, 0, NULL));
		XT_OK(xt_flag(queue, idents[i], USER, XPOLL_ADD | XPOLL_CLEAR));
	}
	XT_EQ(xt_take(queue, events, 16, XT_SOON), 7);
	for (int i = 0; i < 7; i++)
		XT_CHECK(xt_find(events, 7, idents[i], TIMER) >= 0);
	XT_OK(xt_trigger(queue, UINT64_MAX));
	XT_GETS(queue, NULL, UINT64_MAX, USER);
}
