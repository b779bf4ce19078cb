/*
 * Stress: threads are cancelled while they wait; each of them disables
 * cancellation at other times (hazard 20).
 * Oracle: no thread ends between pthread_setcancelstate(PTHREAD_CANCEL_DISABLE)
 * and the call that restores the old state; each thread ends; the queue works
 * afterwards and can be destroyed.
 */
#include "xt_cancel.h"

/* CANCELS: number of threads that are cancelled in each second of XPOLL_STRESS_SECONDS. */
enum { CANCELS = 100, LIMIT_NS = 50000 };

static int64_t timeout_of(bool limited)
{
	return limited ? LIMIT_NS : XT_SOON;
}

static void wait_events(struct xt_storm *storm, bool limited)
{
	struct xpoll_event event;

	(void)XT_EXPECT(xpoll_event(storm->object, NULL, 0, &event, 1,
	                            timeout_of(limited)) >= 0);
}

static void wait_events_for_ever(struct xt_storm *storm, bool limited)
{
	struct xpoll_event event;

	(void)limited;
	(void)XT_EXPECT(xpoll_event(storm->object, NULL, 0, &event, 1, -1) >= 0);
}

static void wait_events_mask(struct xt_storm *storm, bool limited)
{
	struct xpoll_event event;
	sigset_t empty;

	(void)sigemptyset(&empty);
	(void)XT_EXPECT(xpoll_event_mask(storm->object, NULL, 0, &event, 1,
	                                 limited ? LIMIT_NS : -1, &empty) >= 0);
}

static void wait_poll_like(struct xt_storm *storm, bool limited)
{
	(void)XT_EXPECT(xpoll_wait(storm->object, timeout_of(limited)) >= 0);
}

static void wait_poll_like_for_ever(struct xt_storm *storm, bool limited)
{
	(void)limited;
	(void)XT_EXPECT(xpoll_wait(storm->object, -1) >= 0);
}

/*
 * Skip under AddressSanitizer and ThreadSanitizer, which lose track of a thread that is cancelled.
 */
static void check(void (*wait)(struct xt_storm *storm, bool limited))
{
	struct xt_storm storm = {.wait = wait};
	struct xpoll_event event;

	XT_STORM_PREPARE(&storm);
	storm.object = xt_open();
	XT_OK(xt_add(storm.object, storm.pipe.r, READ, 0));
	XT_CALL(xt_storm_run(&storm, CANCELS));
	xt_put(storm.pipe.w);
	XT_GETS(storm.object, &event, storm.pipe.r, READ);
	/*
	 * xpoll_destroy waits for waiters to leave, so it hangs if a cancelled thread is still
	 * counted.
	 */
	xt_destroy(storm.object);
}

XT_TEST(stress_cancelled_event_waits)
{
	XT_CALL(check(wait_events));
}

XT_TEST(stress_cancelled_event_waits_without_a_timeout)
{
	XT_CALL(check(wait_events_for_ever));
}

XT_TEST(stress_cancelled_event_waits_with_a_mask)
{
	XT_CALL(check(wait_events_mask));
}

XT_TEST(stress_cancelled_poll_like_waits)
{
	XT_CALL(check(wait_poll_like));
}

XT_TEST(stress_cancelled_poll_like_waits_without_a_timeout)
{
	XT_CALL(check(wait_poll_like_for_ever));
}
