/*
 * kqueue: kevent(2) as a loop, and two workloads beside epoll(7).
 *
 * It is written as for a BSD: what is enabled and disabled is collected and goes
 * along with the next wait.  Each event brings a count, which epoll(7) does not.
 */
#include <sys/event.h>

#include "loop.h"

#define CHANGES_MAX (2 * LOOPTEST_EVENTS)

struct kevent_loop {
	const struct loop_target *targets;
	int fd;
	int changes_len;
	struct kevent changes[CHANGES_MAX];
};

static void kevent_close(void *opened)
{
	struct kevent_loop *loop = opened;

	if (loop->fd >= 0)
		close(loop->fd);
}

static int kevent_open(void *opened, const struct bench_field *field,
                       const struct bench_way *way)
{
	struct kevent_loop *loop = opened;

	(void)way;
	loop->targets = field->targets;
	loop->fd = kqueue();
	return loop->fd < 0 ? -errno : 0;
}

static int kevent_flush(struct kevent_loop *loop)
{
	int rc = kevent(loop->fd, loop->changes, loop->changes_len, NULL, 0, NULL);

	loop->changes_len = 0;
	return rc < 0 ? -errno : 0;
}

static int kevent_change(void *opened, enum loop_change change, const int *ids, int len)
{
	static const unsigned short flags[] = {
		[LOOP_ADD] = EV_ADD, [LOOP_DELETE] = EV_DELETE,
		[LOOP_DISABLE] = EV_DISABLE, [LOOP_ENABLE] = EV_ENABLE,
	};
	struct kevent_loop *loop = opened;
	int rc = 0;

	for (int i = 0; i < len && rc == 0; i++) {
		const struct loop_target *target = &loop->targets[ids[i]];
		short filter = target->events & POLLIN ? EVFILT_READ : EVFILT_WRITE;

		EV_SET(&loop->changes[loop->changes_len++], target->fd, filter,
		       flags[change], 0, 0, (void *)(intptr_t)ids[i]);
		if (loop->changes_len == CHANGES_MAX || change == LOOP_ADD ||
		    change == LOOP_DELETE)
			rc = kevent_flush(loop);
	}
	return rc;
}

static int kevent_wait(void *opened, struct loop_hand *hand, const int *enable,
                       int enable_len, bool block)
{
	static const struct timespec now = { 0, 0 };
	struct kevent_loop *loop = opened;
	struct kevent *events = hand->records;
	int count = kevent_change(loop, LOOP_ENABLE, enable, enable_len);

	if (count < 0)
		return count;
	count = kevent(loop->fd, loop->changes, loop->changes_len, events, hand->cap,
	               block ? NULL : &now);
	if (count < 0)
		return bench_goes_on(errno) ? 0 : -errno;
	loop->changes_len = 0;
	for (int i = 0; i < count; i++) {
		if (events[i].flags & EV_ERROR)
			return -(int)events[i].data;
		if (events[i].data < 1)
			return -EIO; /* a count that is none */
		hand->ready[i] = (struct loop_ready){
			(int)(intptr_t)events[i].udata,
			events[i].filter == EVFILT_READ ? POLLIN : POLLOUT,
		};
	}
	return count;
}

static const struct loop_ops loop_kevent = {
	.size = sizeof(struct kevent_loop),
	.record_size = sizeof(struct kevent),
	.uncounted = true,
	.open = kevent_open,
	.change = kevent_change,
	.wait = kevent_wait,
	.close = kevent_close,
};

/* --- kqueue: looptest -------------------------------------------------------- */

static const struct bench_variant kqueue_peers[] = {
	{ .name = "kevent", .ops = &looptest_loop_ops, .loop = &loop_kevent },
	{ .name = "raw-epoll", .ops = &looptest_epoll_ops },
	{ 0 },
};

static const char kqueue_help[] =
	"looptest as written for a BSD: changes are passed with the next wait, and each\n"
	"event has the number of bytes to read, or the room to write.  epoll counts\n"
	"neither.\n"
	"\n"
	"kevent     kqueue(2); on Linux, that of libxpoll-kqueue\n"
	"raw-epoll  epoll(7), by hand\n"
	"limit      the reads and writes alone\n";

const struct bench_workload bench_kqueue = {
	.name = "kqueue", .unit = "read", .items = "pipes", .n_default = 8,
	.summary = "looptest through kevent(2), with counts",
	.help = kqueue_help,
	.references = { "raw-epoll", "limit" },
	.both_ends = true,
	.absent = true,
	.peers = kqueue_peers,
	.limit = &looptest_limit,
};

/* --- kqueue-change: a descriptor is added, and deleted by another call ------- */

struct change_state {
	struct bench_turn turn;
	int next;
};

static int change_run(void *opened, uint64_t count)
{
	struct change_state *state = opened;
	struct loop *loop = &state->turn.loop;
	int rc = 0;

	for (; count > 0 && rc >= 0; count--) {
		rc = loop_change(loop, LOOP_ADD, &state->next, 1);
		if (rc >= 0)
			rc = loop_change(loop, LOOP_DELETE, &state->next, 1);
		if (++state->next == state->turn.field->len)
			state->next = 0;
	}
	return rc;
}

static const struct bench_variant change_peers[] = {
	{ .name = "kevent", .loop = &loop_kevent },
	{ .name = "raw-epoll", .loop = &loop_epoll },
	{ 0 },
};

const struct bench_workload bench_kqueue_change = {
	.name = "kqueue-change", .unit = "pair", .items = "sockets", .n_default = 64,
	.summary = "add and delete of a socket by kevent(2)",
	.help =
		"Each of N sockets in turn is added for reading, and deleted, in a call each.\n"
		"\n"
		"kevent     kqueue(2); on Linux, that of libxpoll-kqueue\n"
		"raw-epoll  epoll_ctl(2)\n",
	.references = { "raw-epoll" },
	.kind = BENCH_SOCKETS,
	.ops = { .size = sizeof(struct change_state), .room = 1, .run = change_run },
	.absent = true,
	.peers = change_peers,
};
