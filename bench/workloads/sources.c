/*
 * sources: a process that ends, or a signal.  One operation makes it happen and waits until
 * it is reported.
 */
#include <signal.h>
#include <sys/wait.h>

#include "loop.h"

static void sources_end(struct bench_field *field)
{
	sigaction(SIGUSR1, field->own, NULL);
}

/* Else the signal would end this process. */
static int sources_begin(struct bench_field *field)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	return sigaction(SIGUSR1, &ignore, field->own) < 0 ? -errno : 0;
}

static int sources_open(struct bench_turn *turn)
{
	return turn->loop.ops->signal(turn->loop.state, SIGUSR1);
}

/* One event. */
static int sources_wait(struct bench_turn *turn)
{
	int count;

	do
		count = loop_wait(&turn->loop, true);
	while (count == 0);
	return count == 1 || count < 0 ? count : -EPROTO;
}

static int sources_fork(struct bench_turn *turn)
{
	pid_t pid = fork();
	int rc;

	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(0);
	rc = turn->loop.ops->process(turn->loop.state, 0, pid);
	if (rc >= 0)
		rc = sources_wait(turn);
	bench_calls += 2;
	while (waitpid(pid, NULL, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return rc;
}

static int sources_signal(struct bench_turn *turn)
{
	bench_calls++;
	return kill(getpid(), SIGUSR1) < 0 ? -errno : sources_wait(turn);
}

const struct bench_workload bench_sources = {
	.name = "sources", .unit = "event", .items = "sources", .n_default = 1,
	.summary = "processes and signals: from cause to event",
	.help =
		"Events that are not readiness.  process: a child is forked, watched, and ends.\n"
		"signal: this process sends itself one.  An operation ends when its event was\n"
		"returned.  N has no effect.\n"
		"\n"
		"xpoll-NAME   PROC and SIGNAL in a queue on a back end\n"
		"by-hand      pidfd_open and signalfd, read when epoll reports them\n"
		"\n"
		"Times are processor time of this process; most of process is the fork.\n",
	.phases = {
		{ .name = "process", .run = sources_fork },
		{ .name = "signal", .run = sources_signal },
	},
	.references = { "by-hand" },
	.kind = BENCH_NOTHING,
	.setup_size = sizeof(struct sigaction),
	.open = sources_begin,
	.close = sources_end,
	.ops = { .room = 4, .open = sources_open },
	.loops = LOOP_PROCESSES,
};
