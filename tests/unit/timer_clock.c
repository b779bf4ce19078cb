/*
 * Goal: timers are exact to the nanosecond, and timers on the real-time clock
 * follow when that clock is set.
 * Method: the library gets clocks of this program, which stand still until the
 * test moves them, because no test may set the machine's clock.
 */
#include "base/time.h"
#include "linux/sys_linux.h"
#include "sys/sys.h"
#include "xt.h"

enum { TIMER = XPOLL_FILT_TIMER };

#define NSECONDS XPOLL_NOTE_NSECONDS
#define ABSTIME  XPOLL_NOTE_ABSTIME
#define START_NS (INT64_C(1000) * XP_NS_PER_SEC)
#define EPOCH_NS (INT64_C(1700000000) * XP_NS_PER_SEC)

/* --- In place of src/posix/sys_clock.c and src/linux/sys_timerfd.c -- */

static _Atomic int64_t clock_ns;    /* monotonic clock */
static _Atomic int64_t offset_ns;   /* the real-time clock minus the monotonic one */
static _Atomic int64_t hurry_ns;    /* each reading of the clock advances it by this */
static _Atomic int64_t alarm_ns;    /* the alarm that the library has set in the back end */
static int step_fd = -1;    /* descriptor that reports that the real-time clock was set */
static int step_error;      /* if not 0, creating that descriptor fails with this error */

int64_t xp_sys_now(void)
{
	clock_ns += hurry_ns;
	return clock_ns;
}

int64_t xp_sys_now_coarse(void)
{
	return clock_ns;
}

int64_t xp_sys_realtime(void)
{
	return clock_ns + offset_ns;
}

int xp_sys_timer_fd(void)
{
	return xp_sys_eventfd(false);
}

int xp_sys_timer_set(int timer_fd, int64_t deadline_ns)
{
	(void)timer_fd;
	alarm_ns = deadline_ns;
	return 0;
}

int xp_sys_clock_step_fd(void)
{
	if (step_error)
		return -step_error;
	step_fd = xp_sys_eventfd(false);
	return step_fd;
}

/* ------------------------------------------------------------------------ */

static struct xpoll *start(void)
{
	clock_ns = START_NS;
	offset_ns = EPOCH_NS;
	hurry_ns = 0;
	alarm_ns = XP_NEVER;
	step_fd = -1;
	step_error = 0;
	return xt_open_quiet();
}

/* Set the real-time clock forward by this, and report that. */
static void step(int64_t forward_ns)
{
	uint64_t one = 1;

	offset_ns += forward_ns;
	if (step_fd >= 0)
		XT_EXPECT_EQ(write(step_fd, &one, sizeof one), sizeof one);
}

static int timer(struct xpoll *queue, uint64_t ident, int flags,
                 uint32_t fflags, int64_t data)
{
	return xt_change(queue, ident, TIMER, flags, fflags, data, NULL);
}

XT_TEST(relative_timer_fires_at_its_nanosecond)
{
	struct xpoll *queue = start();

	XT_OK(timer(queue, 1, XPOLL_ADD | XPOLL_ONESHOT, 0, 5));
	XT_EQ(xpoll_next_timeout(queue), 5000000);
	clock_ns = START_NS + 4999999;
	XT_NONE(queue);
	XT_EQ(xpoll_next_timeout(queue), 1);
	clock_ns = START_NS + 5000000;
	XT_EQ(xpoll_next_timeout(queue), 0);
	XT_GETS(queue, NULL, 1, TIMER);
}

XT_TEST(periodic_timer_counts_to_the_nanosecond)
{
	struct xpoll *queue = start();
	struct xpoll_event event;

	XT_OK(timer(queue, 1, XPOLL_ADD, NSECONDS, 100));
	clock_ns = START_NS + 99;
	XT_NONE(queue);
	clock_ns = START_NS + 199;
	XT_GETS(queue, &event, 1, TIMER);
	XT_EQ(event.data, 1);
	XT_EQ(xpoll_next_timeout(queue), 1);
	XT_NONE(queue);
	clock_ns = START_NS + 1000;
	XT_GETS(queue, &event, 1, TIMER);
	XT_EQ(event.data, 9);
	XT_EQ(xpoll_next_timeout(queue), 100);
	/*
	 * The library saw the timer expired long before the event is taken: all periods up to then
	 * count.
	 */
	clock_ns = START_NS + 1100;
	XT_EQ(xpoll_wait(queue, 0), 0);
	clock_ns = START_NS + 2099;
	XT_GETS(queue, &event, 1, TIMER);
	XT_EQ(event.data, 10);
	XT_EQ(xpoll_next_timeout(queue), 1);
	/* A period count of three hundred years in nanoseconds does not overflow. */
	clock_ns = INT64_MAX - 1;
	XT_GETS(queue, &event, 1, TIMER);
	XT_EQ(event.data, (INT64_MAX - 1 - START_NS) / 100 - 20);
	XT_NONE(queue);
}

XT_TEST(disabled_time_counts_to_the_nanosecond)
{
	struct xpoll *queue = start();
	struct xpoll_event event;

	XT_OK(timer(queue, 1, XPOLL_ADD | XPOLL_DISPATCH, NSECONDS, 100));
	clock_ns = START_NS + 150;
	XT_GETS(queue, &event, 1, TIMER);
	clock_ns = START_NS + 1000;
	XT_NONE(queue);
	XT_OK(timer(queue, 1, XPOLL_ENABLE, 0, 0));
	XT_GETS(queue, &event, 1, TIMER);
	XT_EQ(event.data, 9);
	XT_OK(timer(queue, 1, XPOLL_ENABLE, 0, 0));
	XT_NONE(queue);
	XT_EQ(xpoll_next_timeout(queue), 100);
}

XT_TEST(absolute_timer_fires_at_its_nanosecond)
{
	struct xpoll *queue = start();

	XT_OK(timer(queue, 1, XPOLL_ADD, ABSTIME | NSECONDS,
	            EPOCH_NS + START_NS + 50));
	XT_OK(timer(queue, 2, XPOLL_ADD, XPOLL_NOTE_MONOTONIC | NSECONDS,
	            START_NS + 60));
	XT_EQ(xpoll_next_timeout(queue), 50);
	clock_ns = START_NS + 49;
	XT_NONE(queue);
	clock_ns = START_NS + 50;
	XT_GETS(queue, NULL, 1, TIMER);
	XT_EQ(xpoll_next_timeout(queue), 10);
	clock_ns = START_NS + 60;
	XT_GETS(queue, NULL, 2, TIMER);
	XT_EQ(xpoll_next_timeout(queue), -1);
}

XT_TEST(clock_set_forward_makes_absolute_timers_due)
{
	struct xpoll *queue = start();

	XT_OK(timer(queue, 1, XPOLL_ADD, ABSTIME | NSECONDS,
	            EPOCH_NS + START_NS + 1000));
	XT_OK(timer(queue, 2, XPOLL_ADD, ABSTIME | NSECONDS,
	            EPOCH_NS + START_NS + 3000));
	XT_OK(timer(queue, 3, XPOLL_ADD, NSECONDS, 2000));
	XT_NONE(queue);
	step(1000);
	XT_GETS(queue, NULL, 1, TIMER);
	/* The relative timer does not follow the real-time clock. */
	XT_EQ(xpoll_next_timeout(queue), 2000);
	step(1500);
	XT_NONE(queue);
	XT_EQ(xpoll_next_timeout(queue), 500);
	clock_ns += 500;
	XT_GETS(queue, NULL, 2, TIMER);
}

XT_TEST(clock_set_back_puts_absolute_timers_off)
{
	struct xpoll *queue = start();

	XT_OK(timer(queue, 1, XPOLL_ADD, ABSTIME | NSECONDS,
	            EPOCH_NS + START_NS + 1000));
	XT_EQ(xpoll_next_timeout(queue), 1000);
	step(-INT64_C(3600) * XP_NS_PER_SEC);
	clock_ns += 1000;
	/*
	 * The setting of the clock was not reported yet; the library reads the clock before a timer
	 * expires.
	 */
	XT_NONE(queue);
	XT_EQ(xpoll_next_timeout(queue), 3600 * XP_NS_PER_SEC);
	clock_ns += 3600 * XP_NS_PER_SEC - 1;
	XT_NONE(queue);
	clock_ns += 1;
	XT_GETS(queue, NULL, 1, TIMER);
}

/* An expired timer stays expired when the clock is set back. */
XT_TEST(clock_set_back_keeps_what_had_expired)
{
	struct xpoll *queue = start();

	XT_OK(timer(queue, 1, XPOLL_ADD, ABSTIME | NSECONDS,
	            EPOCH_NS + START_NS));
	XT_EQ(xpoll_wait(queue, 0), 0);
	step(-1000);
	XT_GETS(queue, NULL, 1, TIMER);
	XT_NONE(queue);
}

static void sleep_for_one(void *argument)
{
	struct xpoll_event event;

	XT_EXPECT_EQ(xpoll_event(argument, NULL, 0, &event, 1, -1), 1);
}

/* Setting the clock forward also wakes a sleeping thread. */
XT_TEST(clock_set_forward_ends_a_sleep)
{
	struct xpoll *queue = start();

	XT_OK(timer(queue, 1, XPOLL_ADD, ABSTIME | NSECONDS,
	            EPOCH_NS + START_NS + 3600 * XP_NS_PER_SEC));
	struct xt_thread *thread = xt_start(sleep_for_one, queue);
	xt_asleep(thread);
	step(3600 * XP_NS_PER_SEC);
	xt_join(thread);
}

XT_TEST(clock_steps_with_no_absolute_timer_left_are_harmless)
{
	struct xpoll *queue = start();

	XT_OK(timer(queue, 1, XPOLL_ADD, ABSTIME, 1));
	XT_GETS(queue, NULL, 1, TIMER);
	step(1000);
	XT_NONE(queue);
	XT_OK(timer(queue, 1, XPOLL_DELETE, 0, 0));
	step(-5000);
	XT_NONE(queue);
	XT_EQ(xpoll_next_timeout(queue), -1);
}

/* Where nothing reports that the clock was set, the library checks the clock each second. */
XT_TEST(clock_steps_untold_are_noticed_within_a_second)
{
	struct xpoll *queue = start();

	step_error = ENOSYS;
	XT_OK(timer(queue, 1, XPOLL_ADD, ABSTIME | NSECONDS,
	            EPOCH_NS + START_NS + 3600 * XP_NS_PER_SEC));
	XT_EQ(xpoll_next_timeout(queue), XP_NS_PER_SEC);
	offset_ns += 3600 * XP_NS_PER_SEC;
	clock_ns += XP_NS_PER_SEC - 1;
	XT_NONE(queue);
	clock_ns += 1;
	XT_GETS(queue, NULL, 1, TIMER);
	XT_EQ(xpoll_next_timeout(queue), -1);
}

XT_TEST(step_descriptor_that_cannot_be_made_is_an_error)
{
	struct xpoll *queue = start();
	struct xpoll_event now;

	step_error = ENFILE;
	XT_STATUS(timer(queue, 1, XPOLL_ADD, ABSTIME, 1), ENFILE);
	XT_FAILS(xpoll_lookup(queue, 1, TIMER, &now), ENOENT);
	step_error = 0;
	XT_OK(timer(queue, 1, XPOLL_ADD, ABSTIME, 1));
	XT_GETS(queue, NULL, 1, TIMER);
}

/*
 * When the thread runs again, both the wait's deadline and the timer have passed; the timer was
 * first, so its event is returned.
 */
XT_TEST(timer_before_the_deadline_is_not_a_timeout)
{
	struct xpoll *queue = start();
	struct xpoll_event event;

	XT_OK(timer(queue, 1, XPOLL_ADD | XPOLL_ONESHOT, NSECONDS, 1000));
	hurry_ns = 900;
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 1500), 1);
	hurry_ns = 0;
	XT_EQ(event.ident, 1);
}

/*
 * The back end's alarm is never later than the next deadline.  It may be earlier: a timer that is
 * extended sets no alarm before the old alarm has gone off.
 */
XT_TEST(alarm_of_the_queue_fd_is_never_too_late)
{
	if (xt_is("poll") || xt_is("select"))
		XT_SKIP("no kernel queue in this back end");
	struct xpoll *queue = start();

	XT_OK(timer(queue, 1, XPOLL_ADD, NSECONDS, 5000));
	XT_EQ(alarm_ns, XP_NEVER);
	XT_CHECK(xpoll_fd(queue) >= 0);
	XT_EQ(alarm_ns, START_NS + 5000);
	XT_OK(timer(queue, 2, XPOLL_ADD, NSECONDS, 3000));
	XT_EQ(alarm_ns, START_NS + 3000);
	XT_OK(timer(queue, 2, XPOLL_ADD, NSECONDS, 8000));
	XT_EQ(alarm_ns, START_NS + 3000);
	clock_ns += 3000;
	XT_NONE(queue);
	XT_EQ(alarm_ns, START_NS + 5000);
	clock_ns += 2000;
	XT_GETS(queue, NULL, 1, TIMER);
	XT_EQ(alarm_ns, START_NS + 8000);
	XT_OK(timer(queue, 1, XPOLL_DELETE, 0, 0));
	XT_OK(timer(queue, 2, XPOLL_DELETE, 0, 0));
	clock_ns += 3000;
	XT_NONE(queue);
	XT_EQ(alarm_ns, XP_NEVER);
}

/* --- At random ------------------------------------------------------------- */

enum { MOMENTS = 300, MOVES = 3000 };

/* Returns the time of the clock that timers with ABSTIME use. */
static int64_t real_ns(void)
{
	return clock_ns + offset_ns;
}

static int64_t set_again(struct xpoll *queue, uint64_t ident, uint64_t *random)
{
	int64_t moment = real_ns() - XP_NS_PER_SEC +
	                 (int64_t)(xt_random(random) % 20000) * 1000000;

	(void)XT_EXPECT_STATUS(timer(queue, ident, XPOLL_ADD,
	                             NSECONDS | ABSTIME, moment), 0);
	return moment;
}

/* Take the due timers; each must be delivered once, and no other.  Returns their number. */
static int take_due(struct xpoll *queue, int64_t *moments)
{
	struct xpoll_event event;
	int taken = 0;

	while (xpoll_event(queue, NULL, 0, &event, 1, 0) == 1) {
		(void)XT_EXPECT(moments[event.ident] <= real_ns());
		(void)XT_EXPECT_EQ(event.data, 1);
		moments[event.ident] = INT64_MAX;
		taken++;
	}
	for (int i = 0; i < MOMENTS; i++)
		(void)XT_EXPECT(moments[i] > real_ns());
	return taken;
}

XT_TEST(clock_steps_at_random_each_moment_comes_once)
{
	struct xpoll *queue = start();
	uint64_t random = xt_seed();
	int64_t moments[MOMENTS];
	long in = MOMENTS, out = 0;

	for (int i = 0; i < MOMENTS; i++)
		moments[i] = set_again(queue, (uint64_t)i, &random);
	for (int move = 0; move < MOVES && !xt_failures(); move++) {
		uint32_t dice = xt_random(&random);
		int index = (int)(xt_random(&random) % MOMENTS);

		if (dice % 4)
			clock_ns += dice % 50000000;
		else /* move by up to ten seconds, forward or back */
			step(((int64_t)(dice / 4 % 20001) - 10000) * 1000000);
		out += take_due(queue, moments);
		if (moments[index] == INT64_MAX) {
			moments[index] = set_again(queue, (uint64_t)index, &random);
			in++;
		}
	}
	step(1000000 * XP_NS_PER_SEC);
	out += take_due(queue, moments);
	XT_EQ(in, out);
	xt_note("%ld moments", in);
}
