/*
 * Goal: a signal reaches who sleeps and who begins to, although a handler writes to a
 * descriptor only while somebody does (S15, S16, S21).
 * Method: signals between the steps of one thread; threads that sleep for ever.
 */
#include <sched.h>

#include "signal_kit.h"

struct sleeper {
	struct xpoll *queue;
	struct xpoll_event event;
	int rc;
};

static void sleep_once(void *argument)
{
	struct sleeper *sleeper = argument;

	sleeper->rc = xpoll_event(sleeper->queue, NULL, 0, &sleeper->event, 1, -1);
}

/* One was taken, and nobody sleeps: who begins to watch the queue sees the next one. */
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

/* Of several that sleep one takes an event: the next one still reaches another. */
XT_TEST(each_of_several_sleepers_gets_the_next_one)
{
	enum { SLEEPERS = 3 };
	struct xpoll *queue = xt_open_quiet();
	struct sleeper sleepers[SLEEPERS];
	struct xt_thread *threads[SLEEPERS];

	XT_SINGLE_ONLY();
	(void)signal(SIGUSR1, SIG_IGN);
	XT_OK(observe(queue, SIGUSR1));
	for (int i = 0; i < SLEEPERS; i++) {
		sleepers[i] = (struct sleeper){.queue = queue};
		threads[i] = xt_start(sleep_once, &sleepers[i]);
		xt_asleep(threads[i]);
	}
	for (int i = 0; i < SLEEPERS; i++) {
		int done = 0;

		XT_EQ(raise(SIGUSR1), 0);
		while (done <= i) {
			done = 0;
			for (int k = 0; k < SLEEPERS; k++)
				done += xt_done(threads[k]);
			(void)sched_yield();
		}
	}
	for (int i = 0; i < SLEEPERS; i++) {
		xt_join(threads[i]);
		XT_EQ(sleepers[i].rc, 1);
		XT_EXPECT_EQ(sleepers[i].event.data, 1);
	}
	XT_NONE(queue);
}
