/*
 * Goal: observed signals and fork (S21, S26): the child inherits handlers, but
 * its signals are not counted in the parent's queue; nothing that a child does
 * affects that queue; xpoll_reinit makes the queue the child's own.
 * Method: children that send signals to themselves.
 */
#include "xt.h"

#include <sys/wait.h>

#define SIGNAL XPOLL_FILT_SIGNAL

static volatile sig_atomic_t calls;

static void on_signal(int number)
{
	(void)number;
	calls++;
}

static struct xpoll *family_make(void)
{
	struct xpoll *queue = xt_open_quiet();

	calls = 0;
	(void)signal(SIGUSR1, SIG_IGN);
	(void)signal(SIGUSR2, on_signal);
	(void)xt_change(queue, SIGUSR1, SIGNAL, XPOLL_ADD, 0, 0, NULL);
	(void)xt_change(queue, SIGUSR2, SIGNAL, XPOLL_ADD, 0, 0, NULL);
	return queue;
}

static void family_end(struct xpoll *queue)
{
	xt_destroy(queue);
	XT_EXPECT(signal(SIGUSR1, SIG_DFL) == SIG_IGN);
	XT_EXPECT(signal(SIGUSR2, SIG_DFL) == on_signal);
}

static void tells(struct xpoll *queue, int number, int count)
{
	struct xpoll_event event;

	XT_GETS(queue, &event, (uint64_t)number, SIGNAL);
	XT_EXPECT_EQ(event.data, count);
}

static void child_signals_itself(void *argument)
{
	(void)argument;
	for (int i = 0; i < 5; i++) {
		XT_EQ(raise(SIGUSR1), 0);
		XT_EQ(raise(SIGUSR2), 0);
	}
	XT_EXPECT_EQ(calls, 5);
}

XT_TEST(hazard_14_child_signals_do_not_reach_the_parents_queue)
{
	struct xpoll *queue = family_make();

	XT_CHECK(xt_child(child_signals_itself, queue));
	XT_NONE(queue);
	XT_EQ(raise(SIGUSR1), 0);
	XT_CALL(tells(queue, SIGUSR1, 1));
	XT_CALL(family_end(queue));
}

static void child_destroys(void *argument)
{
	xpoll_destroy(argument);
	calls = 0;
	child_signals_itself(NULL);
}

XT_TEST(child_destroy_leaves_the_parents_observation)
{
	struct xpoll *queue = family_make();

	XT_EQ(raise(SIGUSR2), 0);
	XT_CHECK(xt_child(child_destroys, queue));
	XT_CALL(tells(queue, SIGUSR2, 1));
	XT_EQ(raise(SIGUSR1), 0);
	XT_CALL(tells(queue, SIGUSR1, 1));
	XT_CALL(family_end(queue));
}

static void child_takes_over(void *argument)
{
	struct xpoll *queue = argument;

	XT_EQ(raise(SIGUSR1), 0);
	XT_EQ(xpoll_reinit(queue), 0);
	/* The child's queue has no event of signals before the fork. */
	XT_NONE(queue);
	calls = 0;
	XT_EQ(raise(SIGUSR2), 0);
	XT_EXPECT_EQ(calls, 1);
	XT_CALL(tells(queue, SIGUSR2, 1));
	XT_EQ(raise(SIGUSR1), 0);
	XT_CALL(tells(queue, SIGUSR1, 1));
	xpoll_destroy(queue);
	XT_EXPECT(signal(SIGUSR1, SIG_DFL) == SIG_IGN);
	XT_EXPECT(signal(SIGUSR2, SIG_DFL) == on_signal);
}

XT_TEST(child_reinit_observes_its_own)
{
	struct xpoll *queue = family_make();

	XT_EQ(raise(SIGUSR1), 0);
	XT_CHECK(xt_child(child_takes_over, queue));
	XT_CALL(tells(queue, SIGUSR1, 1));
	XT_NONE(queue);
	XT_CALL(family_end(queue));
}

/* The child takes over only one of the parent's queues, and creates a new one. */
static void child_mixes(void *argument)
{
	struct xpoll **queues = argument;

	XT_EQ(xpoll_reinit(queues[0]), 0);
	struct xpoll *fresh = xpoll_create(1);
	XT_CHECK(fresh != NULL);
	XT_OK(xt_change(fresh, SIGUSR1, SIGNAL, XPOLL_ADD, 0, 0, NULL));
	xpoll_destroy(queues[1]);
	XT_EQ(raise(SIGUSR1), 0);
	XT_CALL(tells(queues[0], SIGUSR1, 1));
	XT_CALL(tells(fresh, SIGUSR1, 1));
	xpoll_destroy(queues[0]);
	XT_EQ(raise(SIGUSR1), 0);
	XT_CALL(tells(fresh, SIGUSR1, 1));
	xpoll_destroy(fresh);
}

XT_TEST(child_with_several_queues_keeps_them_apart)
{
	struct xpoll *queues[2] = {family_make(), xt_open_quiet()};

	XT_OK(xt_change(queues[1], SIGUSR1, SIGNAL, XPOLL_ADD, 0, 0, NULL));
	for (int i = 0; i < 3; i++)
		XT_CHECK(xt_child(child_mixes, queues));
	XT_NONE(queues[0]);
	XT_NONE(queues[1]);
	XT_EQ(raise(SIGUSR1), 0);
	XT_CALL(tells(queues[0], SIGUSR1, 1));
	XT_CALL(tells(queues[1], SIGUSR1, 1));
	xt_destroy(queues[1]);
	XT_CALL(family_end(queues[0]));
}

static void child_has_grandchild(void *argument)
{
	XT_EQ(xpoll_reinit(argument), 0);
	XT_CHECK(xt_child(child_takes_over, argument));
	XT_NONE(argument);
	XT_EQ(raise(SIGUSR1), 0);
	XT_CALL(tells(argument, SIGUSR1, 1));
}

XT_TEST(grandchild_reinit_observes_its_own)
{
	struct xpoll *queue = family_make();

	XT_CHECK(xt_child(child_has_grandchild, queue));
	XT_NONE(queue);
	XT_CALL(family_end(queue));
}

/*
 * Documented: exec resets handled signals to the default, and the library has installed a handler
 * here.
 */
XT_TEST(exec_of_an_ignored_observed_signal_makes_it_default)
{
	if (access("/bin/sh", X_OK) < 0)
		XT_SKIP("no /bin/sh here");
	struct xpoll *queue = family_make();
	int status = 0;

	(void)fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		(void)execl("/bin/sh", "sh", "-c", "kill -USR1 $$; exit 0",
		            (char *)NULL);
		_exit(127);
	}
	XT_EQ(waitpid(child, &status, 0), child);
	XT_CHECK(WIFSIGNALED(status));
	XT_EXPECT_EQ(WTERMSIG(status), SIGUSR1);
	XT_CALL(family_end(queue));
}
