/*
 * Watches files, processes and signals by hand: by inotify(7), pidfd_open(2) and signalfd(2), whose
 * descriptors are in an epoll set.
 */
#include "loop.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#define WATCHES_MIN 1024
#define BATCH       64 /* most events or signals that one call returns */

/*
 * Data of the epoll events of the inotify instance and of the signalfd; that of a pidfd is the id
 * of the process.
 */
enum { HAND_FILES = -2, HAND_SIGNALS = -3 };

struct hand_loop {
	const char *folder;
	int epoll;
	int inotify;
	int signals;
	int *pidfds;  /* pidfds, indexed by the id of the process */
	int *watches; /* watch descriptors of inotify, indexed by target */
	int *ids;     /* ids of targets, indexed by watch descriptor */
	int ids_len;
	sigset_t mask; /* the signal mask before the loop was opened */
	bool masked;
};

static void hand_close(void *opened)
{
	struct hand_loop *loop = opened;
	const int fds[] = { loop->signals, loop->inotify, loop->epoll };

	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (loop->masked)
		sigprocmask(SIG_SETMASK, &loop->mask, NULL);
	free(loop->pidfds);
	free(loop->watches);
	free(loop->ids);
}

static int hand_add(struct hand_loop *loop, int fd, int id)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = (uint32_t)id };

	bench_calls++;
	return fd < 0 || epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int hand_open(void *opened, const struct bench_field *field,
                     const struct bench_way *way)
{
	struct hand_loop *loop = opened;

	loop->inotify = loop->signals = -1;
	loop->folder = field->folder;
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll < 0)
		return -errno;
	if ((way->workload->loops & LOOP_FILES) == 0) {
		loop->pidfds = malloc((size_t)(field->len + 1) * sizeof *loop->pidfds);
		return loop->pidfds == NULL ? -ENOMEM : 0;
	}
	loop->watches = malloc((size_t)field->len * sizeof *loop->watches);
	loop->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return loop->watches == NULL ? -ENOMEM : hand_add(loop, loop->inotify, HAND_FILES);
}

/*
 * Record the target of a watch descriptor.  inotify numbers watches consecutively, so an array
 * suffices.
 */
static int hand_remember(struct hand_loop *loop, int watch, int id)
{
	if (watch >= loop->ids_len) {
		int len = watch < WATCHES_MIN ? WATCHES_MIN : 2 * watch;
		int *ids = realloc(loop->ids, (size_t)len * sizeof *ids);

		if (ids == NULL)
			return -ENOMEM;
		loop->ids = ids;
		loop->ids_len = len;
	}
	loop->watches[id] = watch;
	loop->ids[watch] = id;
	return 0;
}

/*
 * Read the reports of inotify.  IN_IGNORED reports that a watch has ended.  hand NULL: discard the
 * reports.
 */
static int hand_take_files(struct hand_loop *loop, struct loop_hand *hand)
{
	_Alignas(struct inotify_event) char reports[8192];
	ssize_t len = read(loop->inotify, reports, sizeof reports);

	bench_calls++;
	for (ssize_t at = 0; at < len;) {
		const struct inotify_event *event = (const void *)(reports + at);

		if (hand != NULL && (event->mask & IN_IGNORED) == 0)
			loop_report(hand, loop->ids[event->wd], POLLIN);
		at += (ssize_t)(sizeof *event + event->len);
	}
	return len < 0 ? -errno : 0;
}

static int hand_file(void *opened, int id, bool on)
{
	struct hand_loop *loop = opened;
	char path[LOOP_PATH_MAX];
	int watch;

	bench_calls++;
	if (!on)
		return inotify_rm_watch(loop->inotify, loop->watches[id]) < 0
			? -errno : hand_take_files(loop, NULL);
	loop_path(path, loop->folder, id);
	watch = inotify_add_watch(loop->inotify, path, IN_MODIFY | IN_MOVE_SELF | IN_ATTRIB);
	return watch < 0 ? -errno : hand_remember(loop, watch, id);
}

static int hand_process(void *opened, int id, pid_t pid)
{
	struct hand_loop *loop = opened;

	bench_calls++;
	loop->pidfds[id] = (int)syscall(SYS_pidfd_open, pid, 0);
	return hand_add(loop, loop->pidfds[id], id);
}

static int hand_signal(void *opened, int number)
{
	struct hand_loop *loop = opened;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_BLOCK, &set, &loop->mask);
	loop->masked = true;
	loop->signals = signalfd(-1, &set, SFD_CLOEXEC);
	return hand_add(loop, loop->signals, HAND_SIGNALS);
}

static int hand_take_signals(struct hand_loop *loop, struct loop_hand *hand)
{
	struct signalfd_siginfo infos[BATCH];
	ssize_t len = read(loop->signals, infos, sizeof infos);

	bench_calls++;
	if (len <= 0)
		return -EIO;
	loop_report(hand, 0, (short)((size_t)len / sizeof *infos));
	return 0;
}

static int hand_take(struct hand_loop *loop, struct loop_hand *hand, int id)
{
	if (id == HAND_FILES)
		return hand_take_files(loop, hand);
	if (id == HAND_SIGNALS)
		return hand_take_signals(loop, hand);
	bench_calls++;
	close(loop->pidfds[id]);
	loop_report(hand, id, POLLIN);
	return 0;
}

static int hand_wait(void *opened, struct loop_hand *hand, bool block)
{
	struct hand_loop *loop = opened;
	struct epoll_event events[BATCH];
	int room = hand->cap < BATCH ? hand->cap : BATCH;
	int count = epoll_wait(loop->epoll, events, room, block ? -1 : 0);
	int rc = 0;

	bench_calls++;
	hand->len = 0;
	if (count <= 0)
		return count == 0 || bench_goes_on(errno) ? 0 : -errno;
	for (int i = 0; i < count && rc >= 0; i++)
		rc = hand_take(loop, hand, (int)events[i].data.u32);
	return rc < 0 ? rc : hand->len;
}

const struct loop_ops loop_hand = {
	.name = "by-hand",
	.can = LOOP_FILES | LOOP_PROCESSES,
	.size = sizeof(struct hand_loop),
	.open = hand_open,
	.wait = hand_wait,
	.file = hand_file,
	.process = hand_process,
	.signal = hand_signal,
	.close = hand_close,
};
