/*
 * Goal: 5000 watched processes cost no system calls while they are idle, and
 * the exit of each is delivered (S22).
 * Method: the queue's counters, compared with a queue without a process; fewer
 * processes on poll and select, where each descriptor costs time in each wait.
 */
#include "xt.h"

#include <sys/wait.h>

#define PROC XPOLL_FILT_PROC

enum {
	MOST = 5000,
	/* number of processes where each check reads all of them, or forking is slow */
	FEW = 300,
};

static pid_t children[MOST];

/* Start this number of children that sleep until this process ends or kills them. */
static int children_start(int count)
{
	struct xt_pair pipe = xt_pipe();
	int made = 0;

	XT_EXPECT_EQ(fcntl(pipe.r, F_SETFL, 0), 0);
	(void)fflush(stdout);
	for (; made < count; made++) {
		pid_t pid = fork();
		char end;

		if (pid == 0) {
			(void)close(pipe.w);
			_exit((int)read(pipe.r, &end, 1));
		}
		if (pid < 0)
			break;
		children[made] = pid;
	}
	return made;
}

static void children_reap(int count)
{
	for (int i = 0; i < count; i++) {
		(void)kill(children[i], SIGKILL);
		(void)waitpid(children[i], NULL, 0);
	}
}

struct idle {
	uint64_t waits, checks, changes; /* numbers of system calls */
};

/* Count the system calls of a hundred polls and of a wait that sleeps. */
static void idle_for_a_while(struct xpoll *queue, struct idle *cost)
{
	struct xpoll_stats start = xt_stats(queue);
	struct xpoll_stats end;
	struct xpoll_event event;

	for (int i = 0; i < 100; i++)
		XT_NONE(queue);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 20000000), 0);
	end = xt_stats(queue);
	*cost = (struct idle){
		.waits = end.syscalls_wait - start.syscalls_wait,
		.checks = end.syscalls_check - start.syscalls_check,
		.changes = end.syscalls_change - start.syscalls_change,
	};
}

static void idle_and_told(struct xpoll *queue, int count)
{
	struct idle before = {0};
	struct idle after = {0};
	struct xpoll_event event;
	int seen = 0;

	idle_for_a_while(queue, &before);
	for (int i = 0; i < count; i++)
		XT_OK(xt_change(queue, (uint64_t)children[i], PROC, XPOLL_ADD,
		                XPOLL_NOTE_EXIT, 0, &children[i]));
	XT_NONE(queue);
	idle_for_a_while(queue, &after);
	/*
	 * The same number of system calls as with no process; one more if the wait polls before it
	 * sleeps.
	 */
	XT_EXPECT(after.waits <= before.waits + 1);
	XT_EXPECT_EQ(after.checks, before.checks);
	XT_EXPECT_EQ(after.changes, before.changes);
	/* All children exit together, and a wait has room for one event. */
	for (int i = 0; i < count; i++)
		XT_EQ(kill(children[i], SIGKILL), 0);
	for (; seen < count; seen++) {
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		XT_CHECK(event.ident == (uint64_t)*(pid_t *)event.udata);
		XT_EXPECT_EQ(event.fflags, XPOLL_NOTE_EXIT);
		XT_EXPECT_EQ(event.data, SIGKILL);
	}
	XT_NONE(queue);
}

XT_TEST(five_thousand_processes_cost_nothing_while_idle)
{
	int wanted = xt_is("epoll") && !XT_SANITIZED ? MOST : FEW;
	int room = xt_raise_files(wanted + 100) - 100;
	struct xpoll *queue = xt_open_quiet();
	int count = children_start(wanted < room ? wanted : room);

	xt_watchdog(90);
	xt_note("%d processes", count);
	/* The limit of processes may be low, but allows some. */
	XT_EXPECT(count >= 20);
	idle_and_told(queue, count);
	children_reap(count);
}
