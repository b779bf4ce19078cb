/*
 * A loop on xpoll, by its event level: many changes in one call, and in the call of a wait those
 * that precede the wait.
 */
#include "loop.h"

#include <stdlib.h>

#define BATCH 128 /* most changes in one call: 64 ids with two directions each */

struct queue_loop {
	const struct loop_target *targets;
	struct xpoll *queue;
	int add_flags;
	uint32_t add_notes;
	bool users;
	bool switches; /* both directions are registered, and one may be disabled */
	bool tracks;
	bool hidden;   /* system calls of sources are not counted by the queue */
	struct xpoll_aio *reads; /* the operations, indexed by id */
	struct xpoll_event next; /* a change to pass with the next wait, if next_len is 1 */
	int next_len;
};

static const int queue_flags[] = {
	[LOOP_DELETE] = XPOLL_DELETE, [LOOP_DISABLE] = XPOLL_DISABLE,
	[LOOP_ENABLE] = XPOLL_ENABLE,
};

static void queue_close(void *opened)
{
	struct queue_loop *loop = opened;

	xpoll_destroy(loop->queue);
	free(loop->reads);
}

static int queue_open(void *opened, const struct bench_field *field,
                      const struct bench_way *way)
{
	struct queue_loop *loop = opened;
	unsigned uses = way->workload->loops;
	struct xpoll_options options = {
		.size = sizeof options,
		.backend = way->backend,
		.size_hint = uses & (LOOP_TIMERS | LOOP_USERS | LOOP_TRACKS) ? 0 : field->len,
	};

	loop->hidden = (uses & (LOOP_FILES | LOOP_PROCESSES | LOOP_READS | LOOP_TRACKS)) != 0;
	loop->tracks = (uses & LOOP_TRACKS) != 0;
	if (uses & LOOP_READS) {
		loop->reads = calloc((size_t)field->len, sizeof *loop->reads);
		if (loop->reads == NULL)
			return -ENOMEM;
	}
	loop->targets = field->targets;
	loop->users = (uses & LOOP_USERS) != 0;
	loop->add_flags = XPOLL_ADD | (uses & (LOOP_EDGE | LOOP_USERS) ? XPOLL_CLEAR
	                               : uses & LOOP_DISPATCH         ? XPOLL_DISPATCH : 0);
	loop->switches = (uses & LOOP_SWITCHES) != 0;
	loop->add_notes = uses & LOOP_EXCLUSIVE ? XPOLL_NOTE_EXCLUSIVE : 0;
	loop->queue = xpoll_open(&options);
	return loop->queue == NULL ? -errno : 0;
}

/* Store the records of a change, one or two for each id.  Returns their number. */
static int queue_fill(const struct queue_loop *loop, struct xpoll_event *changes,
                      int flags, const int *ids, int len)
{
	int count = 0;

	for (int i = 0; i < len && loop->users; i++)
		xpoll_set(&changes[count++], (uint64_t)ids[i], XPOLL_FILT_USER, flags, 0, 0, NULL);
	for (int i = 0; i < len && !loop->users; i++) {
		const struct loop_target *target = &loop->targets[ids[i]];
		uint64_t fd = (uint64_t)target->fd;
		void *udata = (void *)(intptr_t)ids[i];

		if (target->events & POLLIN)
			xpoll_set(&changes[count++], fd, XPOLL_FILT_READ, flags,
			          flags & XPOLL_ADD ? loop->add_notes : 0, 0, udata);
		if (target->events & POLLOUT)
			xpoll_set(&changes[count++], fd, XPOLL_FILT_WRITE, flags, 0, 0,
			          udata);
	}
	return count;
}

/*
 * Like queue_fill, with LOOP_SWITCHES: stores records of the directions that change; for LOOP_ADD
 * of both.
 */
static int queue_fill_watch(const struct queue_loop *loop, struct xpoll_event *changes,
                            enum loop_change change, const int *ids, int len)
{
	static const short directions[] = { POLLIN, POLLOUT };
	int count = 0;

	for (int i = 0; i < 2 * len; i++) {
		const struct loop_target *target = &loop->targets[ids[i / 2]];
		short direction = directions[i % 2];
		bool on = (target->events & direction) != 0;
		int flags = on ? XPOLL_ENABLE : XPOLL_DISABLE;

		if (change != LOOP_ADD && on == ((target->before & direction) != 0))
			continue;
		if (change == LOOP_ADD)
			flags = (loop->add_flags & ~(direction == POLLOUT ? XPOLL_CLEAR : 0)) |
			        (on ? 0 : XPOLL_DISABLE);
		xpoll_set(&changes[count++], (uint64_t)target->fd,
		          direction == POLLIN ? XPOLL_FILT_READ : XPOLL_FILT_WRITE, flags, 0, 0,
		          (void *)(intptr_t)ids[i / 2]);
	}
	return count;
}

/* Store the records that enable the reported targets again.  Returns their number. */
static int queue_fill_ready(const struct queue_loop *loop, struct xpoll_event *changes,
                            const struct loop_ready *ready, int len)
{
	for (int i = 0; i < len; i++)
		xpoll_set(&changes[i], (uint64_t)loop->targets[ready[i].id].fd,
		          ready[i].events & POLLIN ? XPOLL_FILT_READ : XPOLL_FILT_WRITE,
		          XPOLL_ENABLE, 0, 0, (void *)(intptr_t)ready[i].id);
	return len;
}

static int queue_enable(void *opened, const struct loop_ready *ready, int len)
{
	struct queue_loop *loop = opened;
	struct xpoll_event changes[LOOP_ENABLE_MAX];

	len = queue_fill_ready(loop, changes, ready, len);
	return xpoll_event(loop->queue, changes, len, NULL, 0, 0) < 0 ? -errno : 0;
}

static int queue_change(void *opened, enum loop_change change, const int *ids, int len)
{
	struct queue_loop *loop = opened;
	struct xpoll_event changes[BATCH];
	int count;

	if (change == LOOP_CLOSE) {
		for (int i = 0; i < len; i++)
			(void)xpoll_close_fd(loop->targets[ids[i]].fd);
		bench_calls += (uint64_t)len;
		return 0;
	}
	if (change == LOOP_WATCH || (loop->switches && change == LOOP_ADD))
		count = queue_fill_watch(loop, changes, change, ids, len);
	else
		count = queue_fill(loop, changes,
		                   change == LOOP_ADD ? loop->add_flags : queue_flags[change],
		                   ids, len);
	return xpoll_event(loop->queue, changes, count, NULL, 0, 0) < 0 ? -errno : 0;
}

static int queue_check(const struct xpoll_event *event, struct loop_ready *ready)
{
	if (event->flags & XPOLL_ERROR)
		return -(int)event->data;
	if (event->filter == XPOLL_FILT_AIO)
		return event->data != LOOP_BLOCK ? -EIO : 0;
	if (event->filter == XPOLL_FILT_SIGNAL)
		ready->events = (short)event->data;
	if (event->filter == XPOLL_FILT_PROC)
		ready->events = (event->fflags & XPOLL_NOTE_CHILD ? POLLIN : 0) |
		                (event->fflags & XPOLL_NOTE_EXIT ? POLLOUT : 0);
	return event->fflags & XPOLL_NOTE_TRACKERR && event->filter == XPOLL_FILT_PROC
		? -ENOBUFS : 0;
}

static int queue_wait(void *opened, struct loop_hand *hand, bool block)
{
	struct queue_loop *loop = opened;
	struct xpoll_event *events = hand->records;
	int changes = queue_fill_ready(loop, events, hand->enable, hand->enable_len);
	int count;

	if (loop->next_len > 0)
		events[changes++] = loop->next;
	loop->next_len = 0;
	hand->enable_len = 0;
	count = xpoll_event(loop->queue, events, changes, events, hand->cap, block ? -1 : 0);
	if (count < 0)
		return bench_goes_on(errno) ? 0 : -errno;
	for (int i = 0; i < count; i++) {
		int rc = 0;

		hand->ready[i] = (struct loop_ready){
			(int)(intptr_t)events[i].udata,
			events[i].filter == XPOLL_FILT_READ ? POLLIN : POLLOUT,
		};
		if (events[i].filter != XPOLL_FILT_READ || events[i].flags & XPOLL_ERROR)
			rc = queue_check(&events[i], &hand->ready[i]);
		if (rc < 0)
			return rc;
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

bool queue_nests(const char *backend)
{
	struct xpoll_options options = { .size = sizeof options, .backend = backend };
	struct xpoll *queue = xpoll_open(&options);
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

static int queue_trigger(void *opened, int id)
{
	struct xpoll_event event;

	xpoll_set(&event, (uint64_t)id, XPOLL_FILT_USER, 0, XPOLL_NOTE_TRIGGER, 0, NULL);
	if (xpoll_event(((struct queue_loop *)opened)->queue, &event, 1, &event, 1, 0) != 1 ||
	    event.ident != (uint64_t)id)
		return -EPROTO;
	return 0;
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
	int rc = loop->next_len > 0 ? queue_submit(loop, &loop->next, 1) : 0;

	xpoll_set(&loop->next, (uint64_t)pid, XPOLL_FILT_PROC, XPOLL_ADD,
	          XPOLL_NOTE_EXIT | (loop->tracks ? XPOLL_NOTE_TRACK : 0), 0,
	          (void *)(intptr_t)id);
	if (loop->tracks)
		return queue_submit(loop, &loop->next, 1);
	loop->next_len = 1;
	return rc;
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
	.enables = true,
	.open = queue_open,
	.change = queue_change,
	.enable = queue_enable,
	.wait = queue_wait,
	.wake = queue_wake,
	.wake_all = queue_wake_all,
	.waits = queue_waits,
	.fd = queue_fd,
	.timers = queue_timers,
	.trigger = queue_trigger,
	.file = queue_file,
	.process = queue_process,
	.signal = queue_signal,
	.read = queue_read,
	.syscalls = queue_syscalls,
	.close = queue_close,
};
