/*
 * beside: looptest while something else is registered in the same queue and stays idle.
 *
 * Measures what a server pays for one signal, child, file, timer or user event that it also waits
 * for, and for a queue whose descriptor another loop may watch.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/event.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "loop.h"

#define PATH "/tmp/xpoll-bench.XXXXXX"

/*
 * The kinds of registration, one for each phase.  FILE_READ is READ of a regular file at its end;
 * EXPOSED is a call of xpoll_fd.
 */
enum { ALONE, SIGNAL, PROC, VNODE, TIMER, USER, FILE_READ, EXPOSED };

struct beside {
	int now; /* the kind that is registered */
	int file;
	int idle; /* an eventfd, which raw-epoll registers for each kind */
	pid_t child;
	char path[sizeof PATH];
};

static void beside_end(struct bench_field *field)
{
	const struct beside *test = field->own;

	if (test->child > 0) {
		kill(test->child, SIGKILL);
		waitpid(test->child, NULL, 0);
	}
	if (test->file >= 0) {
		close(test->file);
		unlink(test->path);
	}
	if (test->idle >= 0)
		close(test->idle);
}

static int beside_begin(struct bench_field *field)
{
	struct beside *test = field->own;

	memcpy(test->path, PATH, sizeof PATH);
	test->file = mkstemp(test->path);
	test->idle = eventfd(0, EFD_CLOEXEC);
	if (test->file < 0 || test->idle < 0)
		return -errno;
	test->child = bench_fork();
	if (test->child == 0)
		for (;;)
			pause();
	return test->child < 0 ? -errno : 0;
}

/*
 * Returns the change that registers or deletes a kind.  Filters, flags and notes have the same
 * numbers in xpoll and in kevent(2) of the drop-in.
 */
static struct xpoll_event beside_change(const struct beside *test, int what, bool on)
{
	const struct xpoll_event changes[] = {
		[SIGNAL] = { .ident = SIGUSR2, .filter = XPOLL_FILT_SIGNAL },
		[PROC] = { .ident = (uint64_t)test->child, .filter = XPOLL_FILT_PROC,
			.fflags = XPOLL_NOTE_EXIT },
		[VNODE] = { .ident = (uint64_t)test->file, .filter = XPOLL_FILT_VNODE,
			.fflags = XPOLL_NOTE_WRITE },
		[TIMER] = { .ident = 1, .filter = XPOLL_FILT_TIMER,
			.fflags = XPOLL_NOTE_SECONDS, .data = 3600 },
		[USER] = { .ident = 1, .filter = XPOLL_FILT_USER },
		[FILE_READ] = { .ident = (uint64_t)test->file, .filter = XPOLL_FILT_READ },
	};
	struct xpoll_event change = changes[what];

	change.flags = on ? XPOLL_ADD : XPOLL_DELETE;
	return change;
}

static int beside_kevent(struct bench_turn *turn, const struct xpoll_event *change)
{
	struct kevent own;

	EV_SET(&own, change->ident, change->filter, change->flags, change->fflags, change->data,
	       NULL);
	return kevent(turn->loop.ops->fd(turn->loop.state), &own, 1, NULL, 0, NULL);
}

static struct xpoll *beside_queue(const struct bench_turn *turn)
{
	return ((const struct looptest *)turn->own)->queue;
}

static int beside_set(struct bench_turn *turn, int what, bool on)
{
	const struct beside *test = turn->field->own;
	struct epoll_event event = { .events = EPOLLIN };
	struct xpoll_event change;

	if (what == ALONE || (what == EXPOSED && turn->way->backend == NULL))
		return 0;
	if (what == EXPOSED)
		return xpoll_fd(beside_queue(turn)) < 0 && errno != ENOTSUP ? -errno : 0;
	/* raw-epoll; epoll(7) refuses regular files */
	if (turn->way->backend == NULL && turn->loop.ops == NULL)
		return what != FILE_READ &&
		       epoll_ctl(looptest_epoll(turn), on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
		                 test->idle, &event) < 0 ? -errno : 0;
	change = beside_change(test, what, on);
	if ((turn->loop.ops != NULL
	     ? beside_kevent(turn, &change)
	     : xpoll_event(beside_queue(turn), &change, 1, NULL, 0, 0)) >= 0)
		return 0;
	/*
	 * Valgrind has no pidfd_open(2): measure without the process. counts.py leaves that row
	 * out.
	 */
	return what == PROC && (errno == ENOTSUP || errno == ENOENT) ? 0 : -errno;
}

/*
 * Replace the registration by that of the phase.  The first phase has a new queue, so nothing is
 * registered.
 */
static int beside_prepare(struct bench_turn *turn)
{
	struct beside *test = turn->field->own;
	int rc = 0;

	if (turn->phase->how == ALONE)
		test->now = ALONE;
	if (turn->phase->how == test->now)
		return 0;
	rc = beside_set(turn, test->now, false);
	test->now = turn->phase->how;
	return rc < 0 ? rc : beside_set(turn, test->now, true);
}

static const struct bench_variant beside_peers[] = {
	{ "raw-epoll", &looptest_epoll_ops, NULL },
	{ "kevent", &looptest_loop_ops, &loop_kevent },
	{ 0 },
};

#define BESIDE(name_, what) { .name = name_, .how = (what), .prepare = beside_prepare }

const struct bench_workload bench_beside = {
	.name = "beside", .unit = "read", .items = "pipes", .n_default = 8,
	.summary = "looptest beside an idle signal, file, timer or the like",
	.help =
		"As looptest, while one thing more is registered and does not happen.\n"
		"exposed: the descriptor of the queue was asked for, so that another loop may\n"
		"watch it.\n"
		"\n"
		"xpoll-NAME   xpoll on a back end, through its poll-like calls\n"
		"raw-epoll    by hand, with one descriptor more in the set\n"
		"kevent       kevent(2) of libxpoll-kqueue\n",
	.phases = {
		BESIDE("alone", ALONE), BESIDE("signal", SIGNAL), BESIDE("process", PROC),
		BESIDE("file watched", VNODE), BESIDE("timer", TIMER), BESIDE("user", USER),
		BESIDE("file read", FILE_READ), BESIDE("exposed", EXPOSED),
	},
	.references = { "raw-epoll", "kevent" },
	.both_ends = true,
	.setup_size = sizeof(struct beside),
	.open = beside_begin,
	.close = beside_end,
	.ops = LOOPTEST_OPS,
	.peers = beside_peers,
};
