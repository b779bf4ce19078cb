/*
 * Goal: a signal makes a self-pipe's descriptor readable if a thread sleeps,
 * and otherwise is seen by a thread that is about to sleep; in whatever order
 * handler and thread run.
 * Method: the test provides the wake-up descriptors, so that it can check the
 * state between two steps of a handler, and count the system calls.
 */
#include <signal.h>

#include "source/signal.h"
#include "sys/wakefd.h"
#include "xt.h"

static struct {
	bool readable;
	int writes, reads;
	/* clear this self-pipe before the next write; NULL: none */
	struct xp_selfpipe *cleared_before;
} pipe_of_test;

int xp_wakefd_open(struct xp_wakefd *wakefd)
{
	*wakefd = (struct xp_wakefd){.fd = 1000, .write_fd = 1001};
	return 0;
}

void xp_wakefd_close(const struct xp_wakefd *wakefd)
{
	(void)wakefd;
}

void xp_wakefd_signal(const struct xp_wakefd *wakefd)
{
	(void)wakefd;
	if (pipe_of_test.cleared_before)
		xp_selfpipe_clear(pipe_of_test.cleared_before, false);
	pipe_of_test.writes++;
	pipe_of_test.readable = true;
}

void xp_wakefd_clear(const struct xp_wakefd *wakefd)
{
	(void)wakefd;
	pipe_of_test.reads++;
	pipe_of_test.readable = false;
}

static struct xp_selfpipe *selfpipe_open(void)
{
	struct xp_selfpipe *selfpipe = NULL;

	memset(&pipe_of_test, 0, sizeof pipe_of_test);
	if (!XT_EXPECT_EQ(xp_selfpipe_open(&selfpipe), 0))
		exit(1);
	XT_EXPECT(xp_selfpipe_want(selfpipe, SIGUSR1, true));
	return selfpipe;
}

static void selfpipe_close(struct xp_selfpipe *selfpipe)
{
	XT_EXPECT(xp_selfpipe_want(selfpipe, SIGUSR1, false));
	xp_selfpipe_close(selfpipe);
}

XT_TEST(signal_while_armed_makes_it_readable_once)
{
	struct xp_selfpipe *selfpipe = selfpipe_open();

	xp_selfpipes_signal(SIGUSR2);
	XT_EXPECT_EQ(pipe_of_test.writes, 0);
	XT_EXPECT(!xp_selfpipe_arm(selfpipe));
	for (int i = 1; i <= 3; i++) {
		xp_selfpipes_signal(SIGUSR1);
		xp_selfpipes_signal(SIGUSR1);
		XT_EXPECT(pipe_of_test.readable);
		XT_EXPECT_EQ(pipe_of_test.writes, i);
		xp_selfpipe_clear(selfpipe, true);
		XT_EXPECT(!pipe_of_test.readable);
	}
	selfpipe_close(selfpipe);
}

XT_TEST(signal_while_nobody_sleeps_is_known_without_a_write)
{
	struct xp_selfpipe *selfpipe = selfpipe_open();

	for (int i = 0; i < 3; i++) {
		xp_selfpipe_disarm(selfpipe);
		xp_selfpipes_signal(SIGUSR1);
		xp_selfpipes_signal(SIGUSR1);
		XT_EXPECT(xp_selfpipe_arm(selfpipe));
		xp_selfpipe_clear(selfpipe, false);
		XT_EXPECT(!xp_selfpipe_arm(selfpipe));
	}
	XT_EXPECT_EQ(pipe_of_test.writes + pipe_of_test.reads, 0);
	xp_selfpipes_signal(SIGUSR1);
	XT_EXPECT(pipe_of_test.readable);
	selfpipe_close(selfpipe);
}

/*
 * A thread that is about to sleep arms the self-pipe while a handler runs: in either order the
 * thread sees the signal.
 */
XT_TEST(signal_noted_before_it_is_armed_is_known_to_the_sleeper)
{
	struct xp_selfpipe *selfpipe = selfpipe_open();

	xp_selfpipe_disarm(selfpipe);
	xp_selfpipes_signal(SIGUSR1);
	XT_EXPECT(xp_selfpipe_arm(selfpipe));
	/* The thread has not handled the first signal yet, so a second one needs no write. */
	xp_selfpipes_signal(SIGUSR1);
	XT_EXPECT(xp_selfpipe_arm(selfpipe));
	selfpipe_close(selfpipe);
}

/*
 * A byte that was written stays in the self-pipe until it is read; only a report of the descriptor
 * makes a thread read it.
 */
XT_TEST(written_one_is_not_disarmed_until_it_was_read)
{
	struct xp_selfpipe *selfpipe = selfpipe_open();

	xp_selfpipes_signal(SIGUSR1);
	xp_selfpipe_disarm(selfpipe);
	XT_EXPECT(xp_selfpipe_arm(selfpipe));
	xp_selfpipe_clear(selfpipe, false);
	XT_EXPECT(!pipe_of_test.readable);
	XT_EXPECT_EQ(pipe_of_test.reads, 1);
	selfpipe_close(selfpipe);
}

/* The descriptor is reported once without an event, and handling that report clears it. */
XT_TEST(handler_that_writes_after_the_answer_is_reported_once)
{
	struct xp_selfpipe *selfpipe = selfpipe_open();

	pipe_of_test.cleared_before = selfpipe;
	xp_selfpipes_signal(SIGUSR1);
	pipe_of_test.cleared_before = NULL;
	XT_EXPECT(pipe_of_test.readable);
	XT_EXPECT(!xp_selfpipe_arm(selfpipe));
	xp_selfpipe_clear(selfpipe, true);
	XT_EXPECT(!pipe_of_test.readable);
	xp_selfpipe_disarm(selfpipe);
	xp_selfpipes_signal(SIGUSR1);
	XT_EXPECT(!pipe_of_test.readable);
	XT_EXPECT(xp_selfpipe_arm(selfpipe));
	selfpipe_close(selfpipe);
}
