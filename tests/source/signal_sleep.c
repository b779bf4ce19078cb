/*
 * Goal: a signal wakes a thread that sleeps or is about to, although a handler
 * writes to a descriptor only while a thread sleeps (S15, S16, S21).
 * Method: signals between the steps of one thread; threads that sleep without a
 * timeout.
 */
#include "signal_kit.h"

/*
 * An event was delivered, and no thread sleeps: a program that begins to poll the queue's
 * descriptor sees the next one.
 */
XT_TEST(queue_descriptor_shows_what_was_pending_before_it_was_asked_for)
{
	struct xpoll *queue = xt_open_quiet();

	(void)signal(SIGUSR1, SIG_IGN);
	XT_OK(observe(queue, SIGUSR1));
	XT_EQ(raise(SIGUSR1), 0);
	XT_EQ(count_of(queue, SIGUSR1), 1);
	XT_EQ(raise(SIGUSR1), 0);
	int fd = xpoll_fd(queue);
	if (fd < 0)
		XT_SKIP("no kernel queue in this back end");
	XT_CHECK(xt_now_readable(queue));
	XT_EQ(count_of(queue, SIGUSR1), 1);
	XT_EQ(raise(SIGUSR1), 0);
	XT_CHECK(xt_now_readable(queue));
	XT_EQ(count_of(queue, SIGUSR1), 1);
	XT_NONE(queue);
}

static void raise_it(void *argument, int which)
{
	(void)argument;
	(void)which;
	XT_EXPECT_EQ(raise(SIGUSR1), 0);
}

/* One of the sleeping threads takes an event, and the next one wakes another thread. */
XT_TEST(each_of_several_sleepers_gets_the_next_one)
{
	struct xpoll *queue = xt_open_quiet();
	int64_t counts[XT_SLEEPERS];

	XT_SINGLE_ONLY();
	(void)signal(SIGUSR1, SIG_IGN);
	XT_OK(observe(queue, SIGUSR1));
	XT_CHECK(xt_sleepers_get(queue, raise_it, NULL, counts));
	for (int i = 0; i < XT_SLEEPERS; i++)
		XT_EXPECT_EQ(counts[i], 1);
	XT_NONE(queue);
}
