/*
 * sources: a process that ends, a signal: from the cause to the event.
 *
 * One operation makes it happen and waits until it is reported.  The files of n are those of
 * the workload files.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "workloads.h"

static const char *const sources_phases[] = { "process", "signal", NULL };

struct sources {
	struct sigaction action; /* of the signal, before */
};

struct sources_state {
	struct loop loop;
	bool signals;
};

static void sources_end(void *setup)
{
	sigaction(SIGUSR1, &((struct sources *)setup)->action, NULL);
}

/* Else the signal would end this process. */
static int sources_begin(const struct bench_options *options, void *setup)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	(void)options;
	return sigaction(SIGUSR1, &ignore, &((struct sources *)setup)->action) < 0 ? -errno : 0;
}

static int sources_open(void *opened, void *setup, const struct bench_way *way)
{
	struct sources_state *state = opened;
	struct loop_setup loop_setup = { .len = 1 };
	int rc = loop_open(&state->loop, way, &loop_setup, 4);

	(void)setup;
	return rc < 0 ? rc : state->loop.ops->signal(state->loop.state, SIGUSR1);
}

static int sources_phase(void *opened, int phase)
{
	((struct sources_state *)opened)->signals = phase == 1;
	return 0;
}

static int sources_wait(struct sources_state *state)
{
	int count;

	do
		count = loop_wait(&state->loop, NULL, 0, true);
	while (count == 0);
	return count == 1 || count < 0 ? count : -EPROTO;
}

static int sources_fork(struct sources_state *state)
{
	pid_t pid = fork();
	int rc;

	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(0);
	rc = state->loop.ops->process(state->loop.state, 0, pid);
	if (rc >= 0)
		rc = sources_wait(state);
	bench_calls += 2;
	while (waitpid(pid, NULL, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return rc;
}

static int sources_signal(struct sources_state *state)
{
	bench_calls++;
	return kill(getpid(), SIGUSR1) < 0 ? -errno : sources_wait(state);
}

static int sources_run(void *opened, uint64_t count)
{
	struct sources_state *state = opened;
	int rc = 0;

	for (; count > 0 && rc >= 0; count--)
		rc = state->signals ? sources_signal(state) : sources_fork(state);
	return rc < 0 ? rc : 0;
}

static const struct bench_ops sources_ops = {
	.size = sizeof(struct sources_state),
	.open = sources_open,
	.phase = sources_phase,
	.run = sources_run,
	.syscalls = loop_syscalls,
	.close = loop_close,
};

const struct bench_workload bench_sources = {
	.name = "sources",
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
	.unit = "event",
	.items = "sources",
	.n_default = 1,
	.phases = sources_phases,
	.references = { "by-hand" },
	.setup_size = sizeof(struct sources),
	.open = sources_begin,
	.close = sources_end,
	.fds_more = 8,
	.queue = &sources_ops,
	.loops = LOOP_PROCESSES,
};
