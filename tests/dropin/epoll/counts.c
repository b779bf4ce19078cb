/*
 * Goal: over kqueue(2) an epoll loop makes no more calls of kevent(2) than the same loop written
 * for kqueue(2), and EPOLL_CTL_MOD makes none of its own.
 * Method: a kevent(2) in front of the real one counts the calls.  Each test runs a loop by epoll(7)
 * and the same loop by kevent(2), whose calls make the changes and the wait together.
 */
#include <dlfcn.h>
#include <sys/event.h>

#include "kit.h"

enum { PIPES = 8, STEPS = 400 };

static int kevents; /* number of calls of kevent(2) */

int kevent(int queue, const struct kevent *changes, int len, struct kevent *events, int cap,
           const struct timespec *timeout)
{
	static int (*real)(int, const struct kevent *, int, struct kevent *, int,
	                   const struct timespec *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "kevent");
	kevents++;
	return real(queue, changes, len, events, cap, timeout);
}

/* A loop of a program, written for epoll(7) or for kqueue(2). */
struct loop {
	bool is_kqueue;
	int queue;
	int len; /* number of changes that the next call of kevent makes */
	struct kevent changes[4];
	uint32_t modes; /* EPOLLET and EPOLLONESHOT, or 0 */
};

static void open_loop(struct loop *loop, bool is_kqueue, uint32_t modes)
{
	*loop = (struct loop){.is_kqueue = is_kqueue, .modes = modes};
	loop->queue = is_kqueue ? xt_keep(kqueue()) : kit_open();
}

/* Let the next call of kevent make this change. */
static void later(struct loop *loop, int fd, int filter, int flags)
{
	struct kevent *record = &loop->changes[loop->len++];

	EV_SET(record, (uintptr_t)fd, (short)filter, (unsigned short)flags, 0, 0, NULL);
}

/* Returns the flags of EV_ADD for a filter that is enabled or not. */
static int flags_of(const struct loop *loop, bool on)
{
	return EV_ADD | (on ? 0 : EV_DISABLE) | (loop->modes & EPOLLET ? EV_CLEAR : 0) |
		(loop->modes & EPOLLONESHOT ? EV_DISPATCH : 0);
}

/* Register a descriptor with these requested events. */
static void add(struct loop *loop, int fd, uint32_t events)
{
	if (!loop->is_kqueue) {
		XT_OK(kit_add(loop->queue, fd, events | loop->modes));
		return;
	}
	later(loop, fd, EVFILT_READ, flags_of(loop, events & EPOLLIN));
	later(loop, fd, EVFILT_WRITE, flags_of(loop, events & EPOLLOUT));
	XT_EQ(kevent(loop->queue, loop->changes, loop->len, NULL, 0, NULL), 0);
	loop->len = 0;
}

/*
 * Change the requested events.  A kqueue(2) program enables and disables the filters that differ.
 */
static void change(struct loop *loop, int fd, uint32_t before, uint32_t events)
{
	uint32_t differ = loop->modes & EPOLLONESHOT ? events : before ^ events;

	if (!loop->is_kqueue) {
		XT_OK(kit_mod(loop->queue, fd, events | loop->modes));
		return;
	}
	if (differ & EPOLLIN)
		later(loop, fd, EVFILT_READ, events & EPOLLIN ? EV_ENABLE : EV_DISABLE);
	if (differ & EPOLLOUT)
		later(loop, fd, EVFILT_WRITE, events & EPOLLOUT ? EV_ENABLE : EV_DISABLE);
}

/* Returns the descriptor of the next event. */
static int next(struct loop *loop)
{
	struct epoll_event event;
	struct kevent record;
	int count;

	if (!loop->is_kqueue) {
		count = epoll_wait(loop->queue, &event, 1, -1);
		return count == 1 ? (int)(event.data.u64 & UINT32_MAX) : -1;
	}
	count = kevent(loop->queue, loop->changes, loop->len, &record, 1, NULL);
	loop->len = 0;
	return count == 1 ? (int)record.ident : -1;
}

/*
 * Run the loop by epoll(7) and by kevent(2), and compare the numbers of calls.  `run` registers its
 * files, makes STEPS steps, sets `kevents` to 0, and makes STEPS steps more: the first steps may
 * make changes that happen once for each descriptor.
 */
static void compare(void (*run)(struct loop *loop), uint32_t modes)
{
	struct loop loop;
	int calls;

	open_loop(&loop, false, modes);
	run(&loop);
	calls = kevents;
	open_loop(&loop, true, modes);
	run(&loop);
	printf("%d calls of kevent(2) by epoll(7), %d by kqueue(2)\n", calls, kevents);
	XT_CHECK(calls <= kevents);
}

/* --- Loops ------------------------------------------------------------------------------ */

/* A byte is passed through a ring of pipes, and before each write WRITE is requested. */
static void go_round(struct loop *loop)
{
	struct xt_pair pipes[PIPES];

	for (int i = 0; i < PIPES; i++) {
		pipes[i] = xt_pipe();
		add(loop, pipes[i].r, EPOLLIN);
		add(loop, pipes[i].w, 0);
	}
	xt_put(pipes[0].w);
	for (int i = 0; i < 2 * STEPS; i++) {
		int from = pipes[i % PIPES].r, to = pipes[(i + 1) % PIPES].w;

		kevents = i == STEPS ? 0 : kevents;
		XT_EQ(next(loop), from);
		XT_EQ(xt_get(from), 'x');
		change(loop, to, 0, EPOLLOUT);
		XT_EQ(next(loop), to);
		change(loop, to, EPOLLOUT, 0);
		xt_put(to);
	}
}

XT_TEST(a_ring_of_pipes)
{
	compare(go_round, 0);
}

/* A server that waits for room after each request, with new input meanwhile or without. */
static void answer(struct loop *loop)
{
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	add(loop, pair.r, EPOLLIN);
	for (int i = 0; i < 2 * STEPS; i++) {
		uint32_t with_room = i % 2 ? EPOLLOUT : EPOLLIN | EPOLLOUT;

		kevents = i == STEPS ? 0 : kevents;
		xt_put(pair.w);
		XT_EQ(next(loop), pair.r);
		XT_EQ(xt_get(pair.r), 'x');
		change(loop, pair.r, EPOLLIN, with_room);
		XT_EQ(next(loop), pair.r);
		change(loop, pair.r, with_room, EPOLLIN);
	}
}

XT_TEST(a_server_that_waits_for_room)
{
	compare(answer, 0);
}

XT_TEST(a_server_with_oneshot)
{
	compare(answer, EPOLLONESHOT);
}

/* A reader that pauses after each request, as a server does whose peer does not read. */
static void pause_reading(struct loop *loop)
{
	struct xt_pair pair = xt_socketpair(SOCK_STREAM), other = xt_pipe();

	add(loop, pair.r, EPOLLIN);
	add(loop, other.r, EPOLLIN);
	for (int i = 0; i < 2 * STEPS; i++) {
		kevents = i == STEPS ? 0 : kevents;
		xt_put(pair.w);
		XT_EQ(next(loop), pair.r);
		XT_EQ(xt_get(pair.r), 'x');
		change(loop, pair.r, EPOLLIN, 0);
		xt_put(other.w);
		XT_EQ(next(loop), other.r);
		XT_EQ(xt_get(other.r), 'x');
		change(loop, pair.r, 0, EPOLLIN);
	}
}

XT_TEST(a_reader_that_pauses)
{
	compare(pause_reading, 0);
}

/* Many connections, one of which gets a request at a time. */
static void serve(struct loop *loop)
{
	struct xt_pair pairs[PIPES];

	for (int i = 0; i < PIPES; i++) {
		pairs[i] = xt_socketpair(SOCK_STREAM);
		add(loop, pairs[i].r, EPOLLIN);
	}
	for (int i = 0; i < 2 * STEPS; i++) {
		kevents = i == STEPS ? 0 : kevents;
		xt_put(pairs[i % PIPES].w);
		XT_EQ(next(loop), pairs[i % PIPES].r);
		XT_EQ(xt_get(pairs[i % PIPES].r), 'x');
	}
}

XT_TEST(a_server_without_changes)
{
	compare(serve, 0);
}

XT_TEST(a_server_with_edges)
{
	compare(serve, EPOLLET);
}
