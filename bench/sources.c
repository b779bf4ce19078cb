/*
 * sources: what is not a descriptor, beside what the kernel has for it.
 *
 * One operation makes something happen and waits until it is reported: a byte is written
 * to one of n files that are watched; a child is forked, watched, and ends; a signal is
 * sent to this process; a watch of a file is added and deleted.  By hand it is inotify(7),
 * pidfd_open(2) and signalfd(2) in an epoll(7) set, as in a program that knows nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "workloads.h"

enum sources_phase { SOURCES_FILE, SOURCES_PROCESS, SOURCES_SIGNAL, SOURCES_WATCH };

#define PATH_LEN 64
#define FOLDER "/tmp/xpoll-bench.XXXXXX"

struct sources {
	char folder[sizeof FOLDER]; /* of the files; empty: not made */
	int n;
	int *fds;
	int next;
	struct sigaction action; /* of the signal, before */
};

struct sources_state;

/* Each returns 0 or -errno. */
struct sources_steps {
	int (*watch)(struct sources_state *state, int index);
	int (*unwatch)(struct sources_state *state, int index);
	int (*wait_file)(struct sources_state *state, int index);
	int (*wait_process)(struct sources_state *state, pid_t pid);
	int (*wait_signal)(struct sources_state *state);
};

struct sources_state {
	struct sources *test;
	const struct sources_steps *steps;
	enum sources_phase phase;
	struct xpoll *queue;
	/* By hand. */
	int epoll;
	int inotify;
	int signals;
	int *watches; /* inotify's number of each file */
	sigset_t mask; /* before */
};

/* --- What happens ------------------------------------------------------------ */

static void sources_path(char *path, size_t size, const struct sources *test, int index)
{
	snprintf(path, size, "%s/%d", test->folder, index);
}

static void sources_close(void *setup)
{
	struct sources *test = setup;
	char path[PATH_LEN];

	for (int i = 0; i < test->n; i++) {
		sources_path(path, sizeof path, test, i);
		close(test->fds[i]);
		unlink(path);
	}
	if (test->folder[0] != '\0')
		rmdir(test->folder);
	free(test->fds);
	sigaction(SIGUSR1, &test->action, NULL);
}

static int sources_make(struct sources *test)
{
	char path[PATH_LEN];
	int fd;

	sources_path(path, sizeof path, test, test->n);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	test->fds[test->n++] = fd;
	return 0;
}

static int sources_open(const struct bench_options *options, void *setup)
{
	struct sources *test = setup;
	char folder[] = FOLDER;
	int rc = 0;

	/* Else it would end this process. */
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = SIG_IGN }, &test->action);
	test->fds = malloc((size_t)options->n * sizeof *test->fds);
	if (!test->fds)
		return -ENOMEM;
	if (!mkdtemp(folder))
		return -errno;
	memcpy(test->folder, folder, sizeof folder);
	while (test->n < options->n && rc == 0)
		rc = sources_make(test);
	return rc;
}

static int sources_write(struct sources_state *state)
{
	struct sources *test = state->test;
	int index = test->next;

	test->next = index + 1 < test->n ? index + 1 : 0;
	bench_calls++;
	if (pwrite(test->fds[index], "x", 1, 0) != 1)
		return -errno;
	return state->steps->wait_file(state, index);
}

static int sources_fork(struct sources_state *state)
{
	pid_t pid = fork();
	int rc;

	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(0);
	rc = state->steps->wait_process(state, pid);
	bench_calls += 2;
	while (waitpid(pid, NULL, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return rc;
}

static int sources_signal(struct sources_state *state)
{
	bench_calls++;
	if (kill(getpid(), SIGUSR1) < 0)
		return -errno;
	return state->steps->wait_signal(state);
}

static int sources_watch(struct sources_state *state)
{
	int rc = state->steps->unwatch(state, 0);

	return rc < 0 ? rc : state->steps->watch(state, 0);
}

static int sources_one(struct sources_state *state)
{
	switch (state->phase) {
	case SOURCES_FILE:
		return sources_write(state);
	case SOURCES_PROCESS:
		return sources_fork(state);
	case SOURCES_SIGNAL:
		return sources_signal(state);
	default:
		return sources_watch(state);
	}
}

static int sources_run(void *opened, uint64_t count)
{
	int rc = 0;

	while (count-- > 0 && rc >= 0)
		rc = sources_one(opened);
	return rc < 0 ? rc : 0;
}

static int sources_phase(void *opened, int phase)
{
	((struct sources_state *)opened)->phase = (enum sources_phase)phase;
	return 0;
}

static int sources_watch_all(struct sources_state *state)
{
	int rc = 0;

	for (int i = 0; i < state->test->n && rc >= 0; i++)
		rc = state->steps->watch(state, i);
	return rc;
}

/* --- On xpoll ---------------------------------------------------------------- */

static int queue_change(struct sources_state *state, uint64_t ident, int filter, int flags,
                        uint32_t notes)
{
	struct xpoll_event change;

	xpoll_set(&change, ident, filter, flags, notes, 0, NULL);
	return xpoll_event(state->queue, &change, 1, NULL, 0, 0) < 0 ? -errno : 0;
}

static int queue_watch(struct sources_state *state, int index)
{
	return queue_change(state, (uint64_t)state->test->fds[index], XPOLL_FILT_VNODE,
	                    XPOLL_ADD, XPOLL_NOTE_WRITE);
}

static int queue_unwatch(struct sources_state *state, int index)
{
	return queue_change(state, (uint64_t)state->test->fds[index], XPOLL_FILT_VNODE,
	                    XPOLL_DELETE, 0);
}

/* With a change or without; the event has to be this one. */
static int queue_wait(struct sources_state *state, const struct xpoll_event *change,
                      uint64_t ident, int filter)
{
	struct xpoll_event event;
	int count = xpoll_event(state->queue, change, change ? 1 : 0, &event, 1, -1);

	while (count < 0 && errno == EINTR && bench_goes_on(EINTR))
		count = xpoll_event(state->queue, NULL, 0, &event, 1, -1);
	if (count != 1)
		return count < 0 ? -errno : -EPROTO;
	return event.ident == ident && event.filter == filter ? 0 : -EPROTO;
}

static int queue_wait_file(struct sources_state *state, int index)
{
	return queue_wait(state, NULL, (uint64_t)state->test->fds[index], XPOLL_FILT_VNODE);
}

static int queue_wait_process(struct sources_state *state, pid_t pid)
{
	struct xpoll_event change;

	xpoll_set(&change, (uint64_t)pid, XPOLL_FILT_PROC, XPOLL_ADD, XPOLL_NOTE_EXIT, 0, NULL);
	return queue_wait(state, &change, (uint64_t)pid, XPOLL_FILT_PROC);
}

static int queue_wait_signal(struct sources_state *state)
{
	return queue_wait(state, NULL, SIGUSR1, XPOLL_FILT_SIGNAL);
}

static const struct sources_steps queue_steps = {
	queue_watch, queue_unwatch, queue_wait_file, queue_wait_process, queue_wait_signal
};

static int queue_open(void *opened, void *setup, const struct bench_way *way)
{
	struct sources_state *state = opened;
	struct xpoll_options options = { .size = sizeof options, .backend = way->backend };
	int rc;

	state->test = setup;
	state->steps = &queue_steps;
	state->queue = xpoll_open(&options);
	if (!state->queue)
		return -errno;
	rc = queue_change(state, SIGUSR1, XPOLL_FILT_SIGNAL, XPOLL_ADD, 0);
	return rc < 0 ? rc : sources_watch_all(state);
}

static void queue_close(void *opened)
{
	xpoll_destroy(((struct sources_state *)opened)->queue);
}

/* Those of the sources are counted nowhere. */
static uint64_t queue_syscalls(const void *opened)
{
	(void)opened;
	return BENCH_UNKNOWN;
}

static const struct bench_ops queue_ops = {
	.size = sizeof(struct sources_state),
	.open = queue_open,
	.phase = sources_phase,
	.run = sources_run,
	.syscalls = queue_syscalls,
	.close = queue_close,
};

/* --- By hand ----------------------------------------------------------------- */

static int hand_add(struct sources_state *state, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	bench_calls++;
	return epoll_ctl(state->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int hand_wait(struct sources_state *state, int fd)
{
	struct epoll_event event;
	int count;

	do {
		bench_calls++;
		count = epoll_wait(state->epoll, &event, 1, -1);
	} while (count < 0 && errno == EINTR && bench_goes_on(EINTR));
	if (count != 1)
		return count < 0 ? -errno : -EPROTO;
	return event.data.fd == fd ? 0 : -EPROTO;
}

static int hand_watch(struct sources_state *state, int index)
{
	char path[PATH_LEN];

	sources_path(path, sizeof path, state->test, index);
	bench_calls++;
	state->watches[index] = inotify_add_watch(state->inotify, path, IN_MODIFY);
	return state->watches[index] < 0 ? -errno : 0;
}

/* Each report of the watches has to be of this file, and be what it says. */
static int hand_read(struct sources_state *state, int index, uint32_t mask)
{
	union {
		struct inotify_event event;
		char bytes[sizeof(struct inotify_event) + PATH_LEN];
	} report;

	bench_calls++;
	if (read(state->inotify, &report, sizeof report) < (ssize_t)sizeof report.event)
		return -errno;
	return report.event.wd == state->watches[index] && report.event.mask & mask ? 0 : -EPROTO;
}

/* That it is gone is reported, too. */
static int hand_unwatch(struct sources_state *state, int index)
{
	bench_calls++;
	if (inotify_rm_watch(state->inotify, state->watches[index]) < 0)
		return -errno;
	return hand_read(state, index, IN_IGNORED);
}

static int hand_wait_file(struct sources_state *state, int index)
{
	int rc = hand_wait(state, state->inotify);

	return rc < 0 ? rc : hand_read(state, index, IN_MODIFY);
}

static int hand_wait_process(struct sources_state *state, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	int rc;

	if (fd < 0)
		return -errno;
	rc = hand_add(state, fd);
	if (rc == 0)
		rc = hand_wait(state, fd);
	close(fd);
	bench_calls += 2;
	return rc;
}

static int hand_wait_signal(struct sources_state *state)
{
	struct signalfd_siginfo info;
	int rc = hand_wait(state, state->signals);

	bench_calls++;
	if (rc == 0 && read(state->signals, &info, sizeof info) != sizeof info)
		rc = -EPROTO;
	return rc;
}

static const struct sources_steps hand_steps = {
	hand_watch, hand_unwatch, hand_wait_file, hand_wait_process, hand_wait_signal
};

static void hand_close(void *opened)
{
	struct sources_state *state = opened;

	if (state->signals > 0)
		close(state->signals);
	if (state->inotify > 0)
		close(state->inotify);
	if (state->epoll > 0)
		close(state->epoll);
	free(state->watches);
	sigprocmask(SIG_SETMASK, &state->mask, NULL);
}

static int hand_open(void *opened, void *setup, const struct bench_way *way)
{
	struct sources_state *state = opened;
	sigset_t set;
	int rc;

	(void)way;
	state->test = setup;
	state->steps = &hand_steps;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &state->mask);
	state->watches = malloc((size_t)state->test->n * sizeof *state->watches);
	if (!state->watches)
		return -ENOMEM;
	state->epoll = epoll_create1(EPOLL_CLOEXEC);
	state->inotify = inotify_init1(IN_CLOEXEC);
	state->signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (state->epoll < 0 || state->inotify < 0 || state->signals < 0)
		return -errno;
	rc = hand_add(state, state->inotify);
	if (rc == 0)
		rc = hand_add(state, state->signals);
	return rc < 0 ? rc : sources_watch_all(state);
}

static const struct bench_ops hand_ops = {
	.size = sizeof(struct sources_state),
	.open = hand_open,
	.phase = sources_phase,
	.run = sources_run,
	.close = hand_close,
};

/* --- The workload ------------------------------------------------------------ */

static const char *const sources_phases[] = { "file", "process", "signal", "watch", NULL };

static const struct bench_variant sources_limit = { "by-hand", &hand_ops, NULL, NULL };

const struct bench_workload bench_sources = {
	.name = "sources",
	.summary = "files, processes and signals: from cause to event",
	.help =
		"Events that are not readiness, in four phases.  file: a byte is written to one\n"
		"of N files that are watched.  process: a child is forked, watched, and ends.\n"
		"signal: this process sends itself one.  watch: the watch of a file is deleted\n"
		"and added.  An operation ends when its event was returned.\n"
		"\n"
		"xpoll-NAME   VNODE, PROC and SIGNAL in a queue on a back end\n"
		"by-hand      inotify, pidfd_open and signalfd, read when epoll reports them\n"
		"\n"
		"Times are processor time of this process; most of process is the fork.\n",
	.unit = "event",
	.items = "files",
	.n_default = 100,
	.n_max = 100000,
	.phases = sources_phases,
	.references = { "by-hand" },
	.setup_size = sizeof(struct sources),
	.open = sources_open,
	.close = sources_close,
	.fds_each = 1,
	.queue = &queue_ops,
	.limit = &sources_limit,
};
