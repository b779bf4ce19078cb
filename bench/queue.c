/*
 * A loop on xpoll, through its event level: many changes in one call, and those
 * that go with a wait in that call.
 */
#include "loop.h"

#include <errno.h>
#include <stdlib.h>

#include "workloads.h"

#define BATCH 128 /* changes in one call: 64 ids, two directions */

struct queue_loop {
	const struct loop_target *targets;
	struct xpoll *queue;
	int mode_flags;
	uint32_t mode_notes;
	bool switches; /* the other direction is registered, too, and disabled */
	bool hidden;   /* calls of sources are counted nowhere */
	struct xpoll_aio *reads; /* by id */
	struct xpoll_event next; /* goes along with the next wait */
	int next_len;
};

static void queue_close(void *opened)
{
	struct queue_loop *loop = opened;

	xpoll_destroy(loop->queue);
	free(loop->reads);
}

static int queue_mode_flags(unsigned mode)
{
	if (mode == LOOP_EDGE)
		return XPOLL_CLEAR;
	return mode == LOOP_DISPATCH ? XPOLL_DISPATCH : 0;
}

static int queue_open(void *opened, const struct loop_setup *setup)
{
	struct queue_loop *loop = opened;
	struct xpoll_options options = {
		.size = sizeof options,
		.backend = setup->backend,
		.size_hint = setup->uses & LOOP_TIMERS ? 0 : setup->len,
	};

	loop->hidden = (setup->uses & (LOOP_FILES | LOOP_PROCESSES | LOOP_READS)) != 0;
	if (setup->uses & LOOP_READS) {
		loop->reads = calloc((size_t)setup->len, sizeof *loop->reads);
		if (loop->reads == NULL)
			return -ENOMEM;
	}
	loop->targets = setup->targets;
	loop->mode_flags = queue_mode_flags(setup->mode);
	loop->switches = setup->switches;
	loop->mode_notes = setup->mode == LOOP_EXCLUSIVE ? XPOLL_NOTE_EXCLUSIVE : 0;
	loop->queue = xpoll_open(&options);
	return loop->queue == NULL ? -errno : 0;
}

/* One or two records for each id; how many. */
static int queue_fill(const struct queue_loop *loop, struct xpoll_event *changes,
                      int flags, const int *ids, int len)
{
	int count = 0;

	for (int i = 0; i < len; i++) {
		const struct loop_target *target = &loop->targets[ids[i]];
		uint64_t fd = (uint64_t)target->fd;
		void *udata = (void *)(intptr_t)ids[i];

		if (target->events & POLLIN)
			xpoll_set(&changes[count++], fd, XPOLL_FILT_READ, flags,
			          flags & XPOLL_ADD ? loop->mode_notes : 0, 0, udata);
		if (target->events & POLLOUT)
			xpoll_set(&changes[count++], fd, XPOLL_FILT_WRITE, flags, 0, 0,
			          udata);
	}
	return count;
}

/* Two records for each id: of the direction that its target names, and of the other. */
static int queue_fill_both(const struct queue_loop *loop, struct xpoll_event *changes,
                           int flags, int other_flags, const int *ids, int len)
{
	for (int i = 0; i < len; i++) {
		const struct loop_target *target = &loop->targets[ids[i]];
		bool reads = target->events & POLLIN;
		void *udata = (void *)(intptr_t)ids[i];

		xpoll_set(&changes[2 * i], (uint64_t)target->fd,
		          reads ? XPOLL_FILT_WRITE : XPOLL_FILT_READ, other_flags, 0, 0, udata);
		xpoll_set(&changes[2 * i + 1], (uint64_t)target->fd,
		          reads ? XPOLL_FILT_READ : XPOLL_FILT_WRITE, flags, 0, 0, udata);
	}
	return 2 * len;
}

static int queue_change(void *opened, enum loop_change change, const int *ids, int len)
{
	static const int flags[] = {
		[LOOP_ADD] = XPOLL_ADD, [LOOP_DELETE] = XPOLL_DELETE,
		[LOOP_DISABLE] = XPOLL_DISABLE, [LOOP_ENABLE] = XPOLL_ENABLE,
	};
	struct queue_loop *loop = opened;
	struct xpoll_event changes[BATCH];
	int count;

	if (change == LOOP_CLOSE) {
		for (int i = 0; i < len; i++)
			(void)xpoll_close_fd(loop->targets[ids[i]].fd);
		bench_calls += (uint64_t)len;
		return 0;
	}
	if (change == LOOP_SWITCH)
		count = queue_fill_both(loop, changes, XPOLL_ENABLE, XPOLL_DISABLE, ids, len);
	else if (loop->switches && change == LOOP_ADD)
		count = queue_fill_both(loop, changes, XPOLL_ADD, XPOLL_ADD | XPOLL_DISABLE, ids,
		                        len);
	else
		count = queue_fill(loop, changes,
		                   flags[change] | (change == LOOP_ADD ? loop->mode_flags : 0),
		                   ids, len);
	return xpoll_event(loop->queue, changes, count, NULL, 0, 0) < 0 ? -errno : 0;
}

static int queue_wait(void *opened, struct loop_hand *hand, const int *enable,
                      int enable_len, bool block)
{
	struct queue_loop *loop = opened;
	struct xpoll_event *events = hand->records;
	int changes = queue_fill(loop, events, XPOLL_ENABLE, enable, enable_len);
	int count;

	if (loop->next_len > 0)
		events[changes++] = loop->next;
	loop->next_len = 0;
	count = xpoll_event(loop->queue, events, changes, events, hand->cap, block ? -1 : 0);
	if (count < 0)
		return bench_goes_on(errno) ? 0 : -errno;
	for (int i = 0; i < count; i++) {
		if (events[i].flags & XPOLL_ERROR)
			return -(int)events[i].data;
		if (events[i].filter == XPOLL_FILT_AIO && events[i].data != LOOP_BLOCK)
			return -EIO;
		hand->ready[i] = (struct loop_ready){
			(int)(intptr_t)events[i].udata,
			events[i].filter == XPOLL_FILT_READ ? POLLIN : POLLOUT,
		};
	}
	return count;
}

static int queue_wake(void *opened)
{
	return xpoll_wake(((struct queue_loop *)opened)->queue) < 0 ? -errno : 0;
}

static int queue_wake_all(void *opened, bool on)
{
	if (!on)
		return 0;
	return xpoll_wake_all(((struct queue_loop *)opened)->queue) < 0 ? -errno : 0;
}

static int queue_fd(void *opened)
{
	int fd = xpoll_fd(((struct queue_loop *)opened)->queue);

	return fd < 0 ? -errno : fd;
}

struct xpoll *queue_on(const char *backend)
{
	struct xpoll_options options = { .size = sizeof options, .backend = backend };

	return xpoll_open(&options);
}

bool queue_nests(const char *backend)
{
	struct xpoll *queue = queue_on(backend);
	bool nests = queue != NULL && xpoll_fd(queue) >= 0;

	xpoll_destroy(queue);
	return nests;
}

/* --- What has no descriptor ---------------------------------------------------- */

static int queue_submit(struct queue_loop *loop, struct xpoll_event *changes, int len)
{
	return xpoll_event(loop->queue, changes, len, NULL, 0, 0) < 0 ? -errno : 0;
}

static int queue_timers(void *opened, const uint32_t *ids, const int64_t *ns, int len)
{
	struct xpoll_event changes[BATCH];

	for (int i = 0; i < len; i++)
		xpoll_set(&changes[i], ids[i], XPOLL_FILT_TIMER,
		          ns != NULL ? XPOLL_ADD | XPOLL_ONESHOT : XPOLL_DELETE,
		          ns != NULL ? XPOLL_NOTE_NSECONDS : 0, ns != NULL ? ns[i] : 0, NULL);
	return queue_submit(opened, changes, len);
}

static int queue_file(void *opened, int id, bool on)
{
	struct queue_loop *loop = opened;
	struct xpoll_event change;

	xpoll_set(&change, (uint64_t)loop->targets[id].fd, XPOLL_FILT_VNODE,
	          on ? XPOLL_ADD | XPOLL_CLEAR : XPOLL_DELETE,
	          XPOLL_NOTE_WRITE | XPOLL_NOTE_RENAME | XPOLL_NOTE_DELETE, 0,
	          (void *)(intptr_t)id);
	return queue_submit(loop, &change, 1);
}

static int queue_process(void *opened, int id, pid_t pid)
{
	struct queue_loop *loop = opened;

	xpoll_set(&loop->next, (uint64_t)pid, XPOLL_FILT_PROC, XPOLL_ADD, XPOLL_NOTE_EXIT, 0,
	          (void *)(intptr_t)id);
	loop->next_len = 1;
	return 0;
}

static int queue_signal(void *opened, int number)
{
	struct xpoll_event change;

	xpoll_set(&change, (uint64_t)number, XPOLL_FILT_SIGNAL, XPOLL_ADD, 0, 0, NULL);
	return queue_submit(opened, &change, 1);
}

static int queue_read(void *opened, const struct loop_read *read)
{
	struct queue_loop *loop = opened;
	struct xpoll_aio *aio = &loop->reads[read->id];

	*aio = (struct xpoll_aio){
		.size = sizeof *aio, .op = XPOLL_AIO_READ, .fd = read->fd,
		.buffer = read->buffer, .length = LOOP_BLOCK, .offset = read->offset,
		.udata = (void *)(intptr_t)read->id,
	};
	return xpoll_aio_submit(loop->queue, aio) < 0 ? -errno : 0;
}

static uint64_t queue_waits(void *opened)
{
	struct xpoll_stats stats = { 0 };

	(void)xpoll_stats(((struct queue_loop *)opened)->queue, &stats, sizeof stats);
	return stats.waits;
}

uint64_t queue_calls(struct xpoll *queue)
{
	struct xpoll_stats stats;

	if (xpoll_stats(queue, &stats, sizeof stats) < 0)
		return BENCH_UNKNOWN;
	return stats.syscalls_wait + stats.syscalls_change + stats.syscalls_check +
	       stats.syscalls_wake;
}

static uint64_t queue_syscalls(void *opened)
{
	struct queue_loop *loop = opened;

	return loop->hidden ? BENCH_UNKNOWN : queue_calls(loop->queue);
}

const struct loop_ops loop_queue = {
	.size = sizeof(struct queue_loop),
	.record_size = sizeof(struct xpoll_event),
	.open = queue_open,
	.change = queue_change,
	.wait = queue_wait,
	.wake = queue_wake,
	.wake_all = queue_wake_all,
	.waits = queue_waits,
	.fd = queue_fd,
	.timers = queue_timers,
	.file = queue_file,
	.process = queue_process,
	.signal = queue_signal,
	.read = queue_read,
	.syscalls = queue_syscalls,
	.close = queue_close,
};
