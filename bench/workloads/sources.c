/*
 * sources: a process that ends, or a signal.  One operation causes the event and waits until it is
 * reported.  burst: many events at once.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "loop.h"

static void sources_end(struct bench_field *field)
{
	sigaction(SIGUSR1, field->own, NULL);
}

/* Ignore the signal, which would end this process before a variant watches for it. */
static int sources_begin(struct bench_field *field)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	return sigaction(SIGUSR1, &ignore, field->own) < 0 ? -errno : 0;
}

static int sources_open(struct bench_turn *turn)
{
	return turn->loop.ops->signal(turn->loop.state, SIGUSR1);
}

/* Take one event. */
static int sources_wait(struct bench_turn *turn)
{
	int count = loop_await(&turn->loop);

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
		"kevent, libkqueue   EVFILT_PROC and EVFILT_SIGNAL\n"
		"by-hand      pidfd_open and signalfd, read when epoll reports them\n"
		"libuv        uv_signal; at each SIGCHLD, waitid of each process\n"
		"\n"
		"Times are processor time of this process; most of process is the fork.\n",
	.phases = {
		{ .name = "process", .run = sources_fork },
		{ .name = "signal", .run = sources_signal },
	},
	.references = { "by-hand", "kevent", "libkqueue", "libuv" },
	.kind = BENCH_NOTHING,
	.setup_size = sizeof(struct sigaction),
	.open = sources_begin,
	.close = sources_end,
	.ops = { .room = 4, .open = sources_open },
	.loops = LOOP_PROCESSES,
};

/* --- burst -------------------------------------------------------------------------- */

#define BURST_MAX 1000 /* most signals that are sent before the first event is taken */

struct burst {
	struct sigaction old;
	pid_t *pids;
	int len; /* number of children that are not reaped */
	int gate; /* the children end when this end of a pipe is closed */
};

static void burst_reap(struct burst *test)
{
	if (test->gate >= 0)
		close(test->gate);
	test->gate = -1;
	for (; test->len > 0; test->len--)
		while (waitpid(test->pids[test->len - 1], NULL, 0) < 0 && errno == EINTR)
			;
}

static void burst_end(struct bench_field *field)
{
	struct burst *test = field->own;

	burst_reap(test);
	free(test->pids);
	sigaction(SIGRTMIN, &test->old, NULL);
}

static int burst_begin(struct bench_field *field)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct burst *test = field->own;

	test->gate = -1;
	test->pids = calloc((size_t)field->len, sizeof *test->pids);
	if (test->pids == NULL)
		return -ENOMEM;
	return sigaction(SIGRTMIN, &ignore, &test->old) < 0 ? -errno : 0;
}

static int burst_open(struct bench_turn *turn)
{
	return turn->loop.ops->signal(turn->loop.state, SIGRTMIN);
}

static pid_t burst_fork(int gate[2])
{
	pid_t pid = bench_fork();
	char byte;

	if (pid == 0) {
		close(gate[1]);
		(void)!read(gate[0], &byte, 1);
		_exit(0);
	}
	return pid;
}

/* Make all children, and watch them.  They wait until the pipe `gate` is closed. */
static int burst_fork_all(struct bench_turn *turn)
{
	struct burst *test = turn->field->own;
	int gate[2];
	int rc = 0;

	if (pipe(gate) < 0)
		return -errno;
	test->gate = gate[1];
	while (test->len < turn->field->len && rc >= 0) {
		pid_t pid = burst_fork(gate);

		if (pid < 0) {
			rc = -errno;
			break;
		}
		test->pids[test->len++] = pid;
		bench_signals_progress();
	}
	close(gate[0]);
	/*
	 * Watch them only now, so that no child has copies of descriptors that the loop opens for
	 * others.
	 */
	for (int i = 0; i < test->len && rc >= 0; i++)
		rc = turn->loop.ops->process(turn->loop.state, i, test->pids[i]);
	return rc;
}

/* Let all children end, take the event of each, and reap them. */
static int burst_children(struct bench_turn *turn)
{
	struct burst *test = turn->field->own;
	int n = test->len;
	int left = n;

	bench_calls += 1 + (uint64_t)n;
	close(test->gate);
	test->gate = -1;
	while (left > 0) {
		int count = loop_wait(&turn->loop, true);

		if (count < 0)
			return count;
		left -= count;
		bench_signals_progress();
	}
	burst_reap(test);
	return n;
}

/* Send signals, and take events until their counts are as many, however few events there are. */
static int burst_signals(struct bench_turn *turn)
{
	int n = turn->field->len < BURST_MAX ? turn->field->len : BURST_MAX;
	int left = n;

	bench_calls += (uint64_t)n;
	for (int i = 0; i < n; i++)
		if (sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = i }) < 0)
			return -errno;
	while (left > 0) {
		int count = loop_wait(&turn->loop, true);

		if (count < 0)
			return count;
		for (int i = 0; i < count; i++)
			left -= turn->loop.hand.ready[i].events;
	}
	return left < 0 ? -EPROTO : n;
}

const struct bench_workload bench_burst = {
	.name = "burst", .unit = "event", .items = "children", .n_default = 10000,
	.n_max = 100000,
	.summary = "children that end at once, and signals in a burst",
	.help =
		"Events that are not readiness, many at once.  children: N children are watched\n"
		"and end at once; each is taken and reaped.  Making them is not measured.\n"
		"signals: this process sends itself up to 1000 real-time signals, then takes what\n"
		"is reported.\n"
		"\n"
		"xpoll-NAME   PROC and SIGNAL in a queue on a back end\n"
		"kevent, libkqueue   EVFILT_PROC and EVFILT_SIGNAL\n"
		"by-hand      pidfd_open and signalfd, read when epoll reports them\n"
		"libuv        uv_signal; at each SIGCHLD, waitid of each process\n",
	.phases = {
		{ .name = "children", .prepare = burst_fork_all, .run = burst_children },
		{ .name = "signals", .run = burst_signals },
	},
	.references = { "by-hand", "kevent", "libkqueue", "libuv" },
	.kind = BENCH_NOTHING,
	.setup_size = sizeof(struct burst),
	.fds_each = 1,
	.open = burst_begin,
	.close = burst_end,
	.ops = { .room = 256, .passes = true, .open = burst_open },
	.loops = LOOP_PROCESSES,
};
