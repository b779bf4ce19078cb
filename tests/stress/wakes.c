/*
 * Stress: many wakes and triggers at a time (S17, S25).
 * Oracle: at most as many waits return 0 as wakes were sent, the last wake
 * always ends a wait, and each trigger whose sender waits for it is delivered.
 */
#include "xt.h"

#include <sched.h>

enum { WAITERS = 3, WAKERS = 2, TRIGGERS = 2 };

struct storm {
	struct xpoll *queue;
	int64_t end_ns;
	atomic_int number;
	atomic_int senders_left;
	_Atomic long wakes;
	_Atomic long zeros;
	atomic_int come[TRIGGERS];
};

static void wake_often(void *argument)
{
	struct storm *storm = argument;

	while (xt_now() < storm->end_ns) {
		atomic_fetch_add(&storm->wakes, 1);
		(void)XT_EXPECT_EQ(xpoll_wake(storm->queue), 0);
		(void)sched_yield();
	}
	atomic_fetch_sub(&storm->senders_left, 1);
}

static void trigger_often(void *argument)
{
	struct storm *storm = argument;
	int me = atomic_fetch_add(&storm->number, 1);

	for (int i = 1; xt_now() < storm->end_ns; i++) {
		(void)XT_EXPECT_STATUS(xt_trigger(storm->queue, (uint64_t)me),
		                       0);
		xt_until(&storm->come[me], i);
	}
	atomic_fetch_sub(&storm->senders_left, 1);
}

static void wait_and_count(void *argument)
{
	struct storm *storm = argument;

	while (atomic_load(&storm->senders_left) > 0) {
		struct xpoll_event events[2];
		int count = xpoll_event(storm->queue, NULL, 0, events, 2, -1);

		if (!XT_EXPECT(count >= 0))
			return;
		if (count == 0)
			atomic_fetch_add(&storm->zeros, 1);
		for (int i = 0; i < count; i++)
			atomic_fetch_add(&storm->come[events[i].ident], 1);
	}
}

/* Complaint: Wake-ups are lost, or never end. */
XT_TEST(stress_wakes_and_triggers_none_is_lost)
{
	double seconds = xt_stress_seconds(1);
	struct storm storm = {.queue = xt_open_quiet(),
	                      .senders_left = WAKERS + TRIGGERS};
	struct xt_thread *waiters[WAITERS];
	struct xt_thread *senders[WAKERS + TRIGGERS];

	xt_watchdog((unsigned)seconds + 30);
	storm.end_ns = xt_now() + (int64_t)(seconds * 1e9);
	for (uint64_t i = 0; i < TRIGGERS; i++)
		XT_OK(xt_flag(storm.queue, i, USER, XPOLL_ADD | XPOLL_CLEAR));
	for (int i = 0; i < WAITERS; i++)
		waiters[i] = xt_start(wait_and_count, &storm);
	for (int i = 0; i < WAKERS + TRIGGERS; i++)
		senders[i] = xt_start(
		    i < WAKERS ? wake_often : trigger_often, &storm);
	for (int i = 0; i < WAKERS + TRIGGERS; i++)
		xt_join(senders[i]);
	/* Send one wake to each thread, whether the thread waits already or is about to. */
	for (int i = 0; i < WAITERS; i++)
		while (!xt_done(waiters[i])) {
			atomic_fetch_add(&storm.wakes, 1);
			XT_EQ(xpoll_wake(storm.queue), 0);
			(void)sched_yield();
		}
	for (int i = 0; i < WAITERS; i++)
		xt_join(waiters[i]);
	XT_CHECK(atomic_load(&storm.zeros) <= atomic_load(&storm.wakes));
	XT_EQ(xt_stats(storm.queue).wakes, atomic_load(&storm.zeros));
	xt_note("%ld wakes sent, %ld answered, %d and %d triggers",
	        atomic_load(&storm.wakes), atomic_load(&storm.zeros),
	        atomic_load(&storm.come[0]), atomic_load(&storm.come[1]));
}

/* Wait until the test has ended; each of these waits must end. */
static void wait_in_rounds(void *argument)
{
	struct storm *storm = argument;

	while (xt_now() < storm->end_ns) {
		struct xpoll_event event;

		if (!XT_EXPECT_EQ(
		        xpoll_event(storm->queue, NULL, 0, &event, 1, -1), 0))
			break;
		atomic_fetch_add(&storm->zeros, 1);
	}
	atomic_fetch_sub(&storm->senders_left, 1);
}

XT_TEST(stress_wake_all_ends_all_waits)
{
	double seconds = xt_stress_seconds(0.5);
	struct storm storm = {.queue = xt_open_quiet(),
	                      .senders_left = WAITERS};
	struct xt_thread *waiters[WAITERS];

	xt_watchdog((unsigned)seconds + 30);
	storm.end_ns = xt_now() + (int64_t)(seconds * 1e9);
	for (int i = 0; i < WAITERS; i++)
		waiters[i] = xt_start(wait_in_rounds, &storm);
	while (atomic_load(&storm.senders_left) > 0) {
		XT_EQ(xpoll_wake_all(storm.queue), 0);
		(void)sched_yield();
	}
	for (int i = 0; i < WAITERS; i++)
		xt_join(waiters[i]);
	xt_note("%ld waits ended", atomic_load(&storm.zeros));
}
