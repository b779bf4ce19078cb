/*
 * Loops on kevent(2): that of libxpoll-kqueue, and libkqueue, both looked up at run time.
 *
 * The code for one thread is written as for a BSD: changes that enable and disable are collected,
 * and passed with the next wait.  Each event contains a count of bytes, which epoll(7) does not
 * return.
 *
 * The structures of the two libraries begin with the same members, but differ in size.
 */
#include <sys/event.h>

#include "loop.h"

#include <stdlib.h>

#define CHANGES_MAX 128
#define SIZE_MAX_OF sizeof(struct kevent)
/* ident of the EVFILT_USER of `wake`; that of `wake_all` is the next number */
#define WAKE_IDENT  0x7fff0000

struct kevent_head {
	uintptr_t ident;
	short filter;
	unsigned short flags;
	unsigned int fflags;
	intptr_t data;
	void *udata;
};

struct kevent_functions {
	int (*kqueue)(void);
	int (*kevent)(int fd, const void *changes, int changes_len, void *events, int cap,
	              const struct timespec *timeout);
};

static int dropin_kevent(int fd, const void *changes, int changes_len, void *events, int cap,
                         const struct timespec *timeout)
{
	return kevent(fd, changes, changes_len, events, cap, timeout);
}

static const struct kevent_functions dropin = { kqueue, dropin_kevent };
static struct kevent_functions libkqueue;

static struct bench_library libkqueue_library = {
	"libkqueue", "libkqueue.so.0", "libkqueue0",
	(const char *const[]){ "kqueue", "kevent", NULL }, &libkqueue, NULL,
};

struct kevent_loop {
	const struct loop_target *targets;
	const struct kevent_functions *functions;
	size_t size; /* size of the library's struct kevent */
	unsigned nseconds; /* the library's value of NOTE_NSECONDS */
	unsigned uses;
	int fd;
	int changes_len;
	_Alignas(struct kevent) char changes[CHANGES_MAX * SIZE_MAX_OF];
};

static void kevent_close(void *opened)
{
	struct kevent_loop *loop = opened;

	if (loop->fd >= 0)
		close(loop->fd);
}

static int kevent_flush(struct kevent_loop *loop)
{
	int rc = loop->functions->kevent(loop->fd, loop->changes, loop->changes_len, NULL, 0,
	                                 NULL);

	loop->changes_len = 0;
	return rc < 0 ? -errno : 0;
}

/* Collect a change for the next wait; without room for more changes pass them now. */
static int kevent_collect(struct kevent_loop *loop, struct kevent_head change)
{
	*(struct kevent_head *)(void *)(loop->changes + (size_t)loop->changes_len * loop->size) =
		change;
	return ++loop->changes_len == CHANGES_MAX ? kevent_flush(loop) : 0;
}

static int kevent_submit(struct kevent_loop *loop, struct kevent_head change)
{
	_Alignas(struct kevent) char record[SIZE_MAX_OF] = { 0 };

	*(struct kevent_head *)(void *)record = change;
	return loop->functions->kevent(loop->fd, record, 1, NULL, 0, NULL) < 0 ? -errno : 0;
}

static int kevent_open(void *opened, const struct bench_field *field,
                       const struct bench_way *way)
{
	struct kevent_loop *loop = opened;
	bool ours = way->loop == &loop_kevent;

	loop->targets = field->targets;
	loop->functions = ours ? &dropin : &libkqueue;
	loop->size = ours ? sizeof(struct kevent) : sizeof(struct kevent_head);
	loop->nseconds = ours ? NOTE_NSECONDS : 4;
	loop->uses = way->workload->loops;
	loop->fd = loop->functions->kqueue();
	if (loop->fd < 0)
		return -errno;
	if ((loop->uses & LOOP_WAKE) == 0)
		return 0;
	return kevent_submit(loop, (struct kevent_head){
		.ident = WAKE_IDENT, .filter = EVFILT_USER, .flags = EV_ADD | EV_CLEAR,
		.udata = (void *)(intptr_t)LOOP_WOKEN });
}

/* Apply a change to one direction of a descriptor. */
static int kevent_change_one(struct kevent_loop *loop, int id, short event, int flags)
{
	struct kevent_head change = {
		.ident = (uintptr_t)loop->targets[id].fd,
		.filter = event == POLLIN ? EVFILT_READ : EVFILT_WRITE,
		.flags = (unsigned short)flags, .udata = (void *)(intptr_t)id,
	};
	bool waits = (flags & (EV_ADD | EV_DELETE)) == 0 && (loop->uses & LOOP_THREADS) == 0;

	return waits ? kevent_collect(loop, change) : kevent_submit(loop, change);
}

/*
 * With LOOP_SWITCHES: apply a change to one direction.  A direction that is not requested is
 * disabled, or deleted if it is edge-triggered.
 */
static int kevent_watch(struct kevent_loop *loop, enum loop_change change, int id, short event)
{
	short events = loop->targets[id].events;
	bool on = (events & event) != 0;
	bool was = change != LOOP_ADD && (loop->targets[id].before & event) != 0;

	if (loop->uses & LOOP_EDGE) {
		if (on == was)
			return 0;
		return kevent_change_one(loop, id, event, !on ? EV_DELETE
		                         : event == POLLIN ? EV_ADD | EV_CLEAR : EV_ADD);
	}
	if (change == LOOP_ADD)
		return kevent_change_one(loop, id, event, EV_ADD | (on ? 0 : EV_DISABLE) |
		                         (loop->uses & LOOP_DISPATCH ? EV_DISPATCH : 0));
	return on == was ? 0 : kevent_change_one(loop, id, event, on ? EV_ENABLE : EV_DISABLE);
}

static int kevent_flags(const struct kevent_loop *loop, enum loop_change change)
{
	static const int flags[] = {
		[LOOP_ADD] = EV_ADD, [LOOP_DELETE] = EV_DELETE,
		[LOOP_DISABLE] = EV_DISABLE, [LOOP_ENABLE] = EV_ENABLE,
	};

	if (change != LOOP_ADD)
		return flags[change];
	return EV_ADD | (loop->uses & LOOP_EDGE ? EV_CLEAR
	                 : loop->uses & LOOP_DISPATCH ? EV_DISPATCH : 0);
}

static int kevent_users(struct kevent_loop *loop, enum loop_change change, const int *ids,
                        int len)
{
	int flags = kevent_flags(loop, change) | (change == LOOP_ADD ? EV_CLEAR : 0);
	int rc = 0;

	for (int i = 0; i < len && rc >= 0; i++)
		rc = kevent_collect(loop, (struct kevent_head){
			.ident = (uintptr_t)ids[i], .filter = EVFILT_USER,
			.flags = (unsigned short)flags });
	return rc < 0 ? rc : kevent_flush(loop);
}

static int kevent_change(void *opened, enum loop_change change, const int *ids, int len)
{
	static const short directions[] = { POLLIN, POLLOUT };
	struct kevent_loop *loop = opened;
	bool watches = change == LOOP_WATCH || (change == LOOP_ADD && loop->uses & LOOP_SWITCHES);
	int rc = 0;

	if (loop->uses & LOOP_USERS)
		return kevent_users(loop, change, ids, len);
	for (int i = 0; i < len && rc >= 0; i++) {
		if (change == LOOP_CLOSE) {
			close(loop->targets[ids[i]].fd);
			continue;
		}
		for (int k = 0; k < 2 && rc >= 0; k++) {
			if (watches)
				rc = kevent_watch(loop, change, ids[i], directions[k]);
			else if (loop->targets[ids[i]].events & directions[k])
				rc = kevent_change_one(loop, ids[i], directions[k],
				                       kevent_flags(loop, change));
		}
	}
	return rc;
}

/* Store the changes that enable the reported targets.  Returns their number. */
static int kevent_fill(const struct kevent_loop *loop, char *records,
                       const struct loop_ready *ready, int len)
{
	for (int i = 0; i < len; i++)
		*(struct kevent_head *)(void *)(records + (size_t)i * loop->size) =
			(struct kevent_head){
				.ident = (uintptr_t)loop->targets[ready[i].id].fd,
				.filter = ready[i].events & POLLIN ? EVFILT_READ
				                                   : EVFILT_WRITE,
				.flags = EV_ENABLE, .udata = (void *)(intptr_t)ready[i].id };
	return len;
}

static int kevent_enable(void *opened, const struct loop_ready *ready, int len)
{
	_Alignas(struct kevent) char records[LOOP_ENABLE_MAX * SIZE_MAX_OF] = { 0 };
	struct kevent_loop *loop = opened;

	len = kevent_fill(loop, records, ready, len);
	return loop->functions->kevent(loop->fd, records, len, NULL, 0, NULL) < 0 ? -errno : 0;
}

static int kevent_take(const struct kevent_loop *loop, const struct kevent_head *event,
                       struct loop_ready *ready)
{
	ready->id = (int)(intptr_t)event->udata;
	ready->events = event->filter == EVFILT_SIGNAL  ? (short)event->data
	                : event->filter == EVFILT_WRITE ? POLLOUT : POLLIN;
	if (event->flags & EV_ERROR)
		return -(int)event->data;
	if (event->filter == EVFILT_PROC && loop->uses & LOOP_TRACKS) {
		ready->events = (short)((event->fflags & NOTE_CHILD ? POLLIN : 0) |
		                        (event->fflags & NOTE_EXIT ? POLLOUT : 0));
		return event->fflags & NOTE_TRACKERR ? -ENOBUFS : 0;
	}
	/* The drop-in returns counts.  If no other thread reads, a count of 0 is an error. */
	return loop->functions == &dropin && (loop->uses & LOOP_THREADS) == 0 && event->data < 1 &&
	       (event->filter == EVFILT_READ || event->filter == EVFILT_WRITE) ? -EIO : 0;
}

static int kevent_wait(void *opened, struct loop_hand *hand, bool block)
{
	static const struct timespec now = { 0, 0 };
	struct kevent_loop *loop = opened;
	char *records = hand->records;
	const void *changes = hand->enable_len > 0 ? records : loop->changes;
	int changes_len = kevent_fill(loop, records, hand->enable, hand->enable_len);
	int count;

	if (hand->enable_len == 0 && (loop->uses & LOOP_THREADS) == 0) {
		changes_len = loop->changes_len;
		loop->changes_len = 0;
	}
	hand->enable_len = 0;
	count = loop->functions->kevent(loop->fd, changes, changes_len, records, hand->cap,
	                                block ? NULL : &now);
	if (count < 0)
		return bench_goes_on(errno) ? 0 : -errno;
	for (int i = 0; i < count; i++) {
		const void *event = records + (size_t)i * loop->size;
		int rc = kevent_take(loop, event, &hand->ready[i]);

		if (rc < 0)
			return rc;
	}
	return count;
}

static int kevent_wake(void *opened)
{
	return kevent_submit(opened, (struct kevent_head){
		.ident = WAKE_IDENT, .filter = EVFILT_USER, .fflags = NOTE_TRIGGER });
}

/* Add or delete an event that is always active, so that all waits return. */
static int kevent_wake_all(void *opened, bool on)
{
	return kevent_submit(opened, (struct kevent_head){
		.ident = WAKE_IDENT + 1, .filter = EVFILT_USER,
		.flags = on ? EV_ADD : EV_DELETE, .fflags = on ? NOTE_TRIGGER : 0,
		.udata = (void *)(intptr_t)LOOP_WOKEN });
}

static int kevent_fd(void *opened)
{
	return ((struct kevent_loop *)opened)->fd;
}

/* --- What has no descriptor ---------------------------------------------------- */

static int kevent_timers(void *opened, const uint32_t *ids, const int64_t *ns, int len)
{
	struct kevent_loop *loop = opened;
	int rc = 0;

	for (int i = 0; i < len && rc >= 0; i++)
		rc = kevent_collect(loop, (struct kevent_head){
			.ident = ids[i], .filter = EVFILT_TIMER,
			.flags = ns != NULL ? EV_ADD | EV_ONESHOT : EV_DELETE,
			.fflags = ns != NULL ? loop->nseconds : 0,
			.data = (intptr_t)(ns != NULL ? ns[i] : 0) });
	return rc < 0 ? rc : kevent_flush(loop);
}

static int kevent_trigger(void *opened, int id)
{
	static const struct timespec now = { 0, 0 };
	struct kevent_loop *loop = opened;
	_Alignas(struct kevent) char record[SIZE_MAX_OF] = { 0 };
	struct kevent_head *event = (void *)record;

	*event = (struct kevent_head){ .ident = (uintptr_t)id, .filter = EVFILT_USER,
		.fflags = NOTE_TRIGGER };
	if (loop->functions->kevent(loop->fd, record, 1, record, 1, &now) != 1 ||
	    event->ident != (uintptr_t)id)
		return -EPROTO;
	return 0;
}

static int kevent_file(void *opened, int id, bool on)
{
	struct kevent_loop *loop = opened;

	return kevent_submit(loop, (struct kevent_head){
		.ident = (uintptr_t)loop->targets[id].fd, .filter = EVFILT_VNODE,
		.flags = on ? EV_ADD | EV_CLEAR : EV_DELETE,
		.fflags = NOTE_WRITE | NOTE_RENAME | NOTE_DELETE,
		.udata = (void *)(intptr_t)id });
}

static int kevent_process(void *opened, int id, pid_t pid)
{
	struct kevent_loop *loop = opened;
	bool tracks = (loop->uses & LOOP_TRACKS) != 0;
	struct kevent_head change = {
		.ident = (uintptr_t)pid, .filter = EVFILT_PROC, .flags = EV_ADD,
		.fflags = NOTE_EXIT | (tracks ? NOTE_TRACK : 0), .udata = (void *)(intptr_t)id,
	};

	return tracks ? kevent_submit(loop, change) : kevent_collect(loop, change);
}

static int kevent_signal(void *opened, int number)
{
	return kevent_submit(opened, (struct kevent_head){
		.ident = (uintptr_t)number, .filter = EVFILT_SIGNAL, .flags = EV_ADD });
}

#define KEVENT_FUNCTIONS \
	.size = sizeof(struct kevent_loop), .record_size = SIZE_MAX_OF, .uncounted = true, \
	.enables = true, .open = kevent_open, .change = kevent_change, .enable = kevent_enable, \
	.wait = kevent_wait, .wake = kevent_wake, .wake_all = kevent_wake_all, \
	.fd = kevent_fd, .timers = kevent_timers, .trigger = kevent_trigger, \
	.file = kevent_file, .process = kevent_process, .signal = kevent_signal, \
	.close = kevent_close

#define KEVENT_CAN \
	(LOOP_MODES | LOOP_THREADS | LOOP_WAKE | LOOP_CLOSES | LOOP_SWITCHES | LOOP_NESTS | \
	 LOOP_FILES | LOOP_PROCESSES)

const struct loop_ops loop_kevent = {
	.name = "kevent",
	.can = KEVENT_CAN | LOOP_TIMERS | LOOP_USERS | LOOP_TRACKS,
	KEVENT_FUNCTIONS,
};

/*
 * libkqueue is no variant of workloads with many timers or user events, because each takes a
 * descriptor.
 */
const struct loop_ops loop_libkqueue = {
	.name = "libkqueue",
	.can = KEVENT_CAN,
	.library = &libkqueue_library,
	KEVENT_FUNCTIONS,
};
