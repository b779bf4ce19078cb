/*
 * Goal: a thread that is cancelled in kevent(2) ends there, and never later, while it has
 * disabled cancellation.
 * Method: a storm of pthread_cancel (tests/lib/xt_cancel.h).
 */
#include "kit.h"
#include "xt_cancel.h"

enum { CANCELS = 100 };

static const struct timespec limit = {.tv_nsec = 50000};
static const struct timespec soon = {.tv_sec = 20};

static int queue_of(const struct xt_storm *storm)
{
	return *(int *)storm->object;
}

static void wait_with_timeout(struct xt_storm *storm, bool limited)
{
	struct kevent event;

	(void)XT_EXPECT(kevent(queue_of(storm), NULL, 0, &event, 1,
	                       limited ? &limit : &soon) >= 0);
}

static void wait_for_ever(struct xt_storm *storm, bool limited)
{
	struct kevent event;

	(void)limited;
	(void)XT_EXPECT(kevent(queue_of(storm), NULL, 0, &event, 1, NULL) >= 0);
}

/*
 * A cancelled call either has not made its changes, or it has made them and must return: then the
 * cancellation comes later.
 */
static void wait_with_changes(struct xt_storm *storm, bool limited)
{
	struct kevent change, event;

	(void)limited;
	EV_SET(&change, storm->pipe.r, EVFILT_READ, EV_ADD, 0, 0, NULL);
	(void)XT_EXPECT(kevent(queue_of(storm), &change, 1, &event, 1, &limit) >= 0);
}

static void check(void (*wait)(struct xt_storm *storm, bool limited))
{
	struct kevent event;
	int kq = kit_open();
	struct xt_storm storm = {.wait = wait, .object = &kq};

	XT_STORM_PREPARE(&storm);
	XT_OK(kit_add(kq, storm.pipe.r, EVFILT_READ, 0));
	XT_CALL(xt_storm_run(&storm, CANCELS));
	xt_put(storm.pipe.w);
	XT_CALL(kit_gets(__FILE__, __LINE__, kq, &event, (uintptr_t)storm.pipe.r, EVFILT_READ));
}

XT_TEST(cancelled_with_a_timeout)
{
	XT_CALL(check(wait_with_timeout));
}

XT_TEST(cancelled_without_a_timeout)
{
	XT_CALL(check(wait_for_ever));
}

XT_TEST(cancelled_with_changes)
{
	XT_CALL(check(wait_with_changes));
}
