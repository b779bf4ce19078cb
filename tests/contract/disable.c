/*
 * Goal: a disabled filter delivers nothing (S3), whatever happens to the file,
 * and causes a bounded number of wake-ups; ENABLE checks the condition again.
 * Method: hang-ups, errors and data while a direction is disabled; the queue's
 * own counters show how often the kernel woke a thread.
 */
#include "xt.h"

#define WAIT_NS (INT64_C(10) * 1000000)
#define WAKE_BOUND 40 /* limit of system calls; a busy loop would make thousands */

/* Wait until the timeouts, and check by the counters that the thread slept. */
static bool stays_quiet(struct xpoll *queue)
{
	struct xpoll_event event;
	struct xpoll_stats before = xt_stats(queue);

	for (int i = 0; i < 3; i++)
		if (!XT_EXPECT_EQ(xt_take(queue, &event, 1, WAIT_NS), 0))
			return false;
	if (xt_threads) /* the changers' calls are counted, too */
		return true;
	struct xpoll_stats after = xt_stats(queue);
	uint64_t calls = after.syscalls_wait - before.syscalls_wait +
	                 after.syscalls_check - before.syscalls_check;
	return XT_EXPECT(calls <= WAKE_BOUND) &&
	       XT_EXPECT(after.fruitless - before.fruitless <= WAKE_BOUND);
}

/* Disable a filter, after it was disabled and enabled this many times. */
static int disable(struct xpoll *queue, int fd, int filter, int turns)
{
	int rc = 0;

	for (int i = 0; i < turns && !rc; i++) {
		rc = xt_flag(queue, (uint64_t)fd, filter, XPOLL_DISABLE);
		if (!rc)
			rc = xt_flag(queue, (uint64_t)fd, filter, XPOLL_ENABLE);
	}
	return rc ? rc : xt_flag(queue, (uint64_t)fd, filter, XPOLL_DISABLE);
}

static const struct {
	int mode;
	int turns;
} variants[] = {
	{0, 0}, {0, 3}, {XPOLL_CLEAR, 0}, {XPOLL_CLEAR, 3}, {XPOLL_DISPATCH, 3},
};

#define VARIANTS (sizeof variants / sizeof *variants)

/*
 * S3: a hang-up of a pipe whose only filter is disabled is not delivered.
 * Complaint: Hang-ups of a descriptor of which nothing is wanted spin.
 */
XT_TEST(disable_pipe_hangup_is_silent_and_sleeps)
{
	if (xt_wine())
		XT_SKIP(XT_WINE_PEEKS);
	for (size_t i = 0; i < VARIANTS; i++) {
		struct xpoll *queue = xt_open();
		struct xt_pair pipe = xt_pipe();
		struct xpoll_event event;

		XT_OK(xt_add(queue, pipe.r, READ, variants[i].mode));
		XT_OK(disable(queue, pipe.r, READ, variants[i].turns));
		xt_put(pipe.w);
		xt_close(pipe.w);
		XT_CHECK(stays_quiet(queue));
		XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_ENABLE));
		XT_GETS(queue, &event, pipe.r, READ);
		XT_EXPECT(event.flags & XPOLL_EOF);
	}
}

/* S3: the same for the error of a pipe without a reader */
XT_TEST(disable_pipe_error_is_silent_and_sleeps)
{
	XT_NEEDS_USER_EVENTS();
	for (size_t i = 0; i < VARIANTS; i++) {
		struct xpoll *queue = xt_open();
		struct xt_pair pipe = xt_pipe();

		XT_OK(xt_add(queue, pipe.w, WRITE, variants[i].mode));
		XT_OK(disable(queue, pipe.w, WRITE, variants[i].turns));
		xt_close(pipe.r);
		XT_CHECK(stays_quiet(queue));
		XT_OK(xt_flag(queue, (uint64_t)pipe.w, WRITE, XPOLL_ENABLE));
		XT_GETS(queue, NULL, pipe.w, WRITE);
	}
}

/* S3: the same for the hang-up of a socket */
XT_TEST(disable_socket_hangup_is_silent_and_sleeps)
{
	for (size_t i = 0; i < VARIANTS; i++) {
		struct xpoll *queue = xt_open();
		struct xt_pair pair = xt_socketpair(SOCK_STREAM);
		struct xpoll_event events[4];

		XT_OK(xt_add(queue, pair.r, READ, variants[i].mode));
		XT_OK(xt_add(queue, pair.r, WRITE, variants[i].mode));
		XT_OK(disable(queue, pair.r, WRITE, variants[i].turns));
		XT_OK(disable(queue, pair.r, READ, variants[i].turns));
		xt_close(pair.w);
		XT_CHECK(stays_quiet(queue));
		XT_OK(xt_flag(queue, (uint64_t)pair.r, WRITE, XPOLL_ENABLE));
		XT_OK(xt_flag(queue, (uint64_t)pair.r, READ, XPOLL_ENABLE));
		XT_EQ(xt_take(queue, events, 4, XT_SOON), 2);
	}
}

/* S3: the same for a reset of a TCP connection */
XT_TEST(disable_tcp_reset_is_silent_and_sleeps)
{
	struct xpoll *queue = xt_open();
	struct xt_pair tcp = xt_tcp();

	XT_OK(xt_add(queue, tcp.r, READ, 0));
	XT_OK(disable(queue, tcp.r, READ, 1));
	xt_reset(tcp);
	XT_CHECK(xt_poll_until(tcp.r, POLLIN, XT_RESET));
	XT_CHECK(stays_quiet(queue));
	XT_OK(xt_flag(queue, (uint64_t)tcp.r, READ, XPOLL_ENABLE));
	XT_GETS(queue, NULL, tcp.r, READ);
}

/* S3: the same at the poll-like level, although poll(2) itself would return POLLHUP */
XT_TEST(ctl_disable_hangup_is_silent_and_sleeps)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	int both = POLLIN | POLLOUT;

	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, both, pair.r, NULL), 0);
	XT_EQ(xpoll_ctl(queue, XPOLL_DISABLE, both, pair.r, NULL), 0);
	xt_close(pair.w);
	XT_EQ(xpoll_wait(queue, 0), 0);
	XT_EQ(xpoll_wait(queue, 30), 0);
	XT_EQ(xpoll_revents(queue, NULL), 0);
	XT_EQ(xpoll_ctl(queue, XPOLL_ENABLE, POLLOUT, pair.r, NULL), 0);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, NULL), xt_poll(pair.r, POLLOUT));
}

/* S3: the same for a filter that was added disabled */
XT_TEST(add_disabled_hangup_is_silent_and_sleeps)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();

	xt_close(pipe.w);
	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_DISABLE));
	XT_CHECK(stays_quiet(queue));
}

/* S3: a filter that is added disabled delivers nothing before ENABLE, even if data is there. */
XT_TEST(add_disabled_readable_never_fires_until_enabled)
{
	for (size_t i = 0; i < VARIANTS; i++) {
		struct xpoll *queue = xt_open();
		struct xt_pair pipe = xt_pipe();

		xt_put(pipe.w);
		XT_OK(xt_add(queue, pipe.r, READ,
		             variants[i].mode | XPOLL_DISABLE));
		XT_NONE(queue);
		xt_put(pipe.w);
		XT_NONE(queue);
		XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_ENABLE));
		XT_GETS(queue, NULL, pipe.r, READ);
	}
}

/*
 * S3: the kernel reports errors whether they are requested or not, and each datagram to a port
 * without a listener causes one.  Have such a port answer once.
 */
static void answer(int fd, const struct sockaddr_in *own, int peer,
                   const struct sockaddr_in *address)
{
	XT_EQ(connect(peer, (const struct sockaddr *)own, sizeof *own), 0);
	XT_EQ(send(peer, "x", 1, 0), 1);
	XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
	/* After this, datagrams are refused again. */
	XT_EQ(connect(peer, (const struct sockaddr *)address, sizeof *address), 0);
}

static void refused_datagrams(int mode, int enabled_first, int rounds)
{
	struct xpoll *queue = xt_open_quiet();
	struct sockaddr_in address;
	int peer = xt_udp_refusing(&address);
	struct sockaddr_in own;
	int fd = xt_udp(&own);
	struct xpoll_event event, events[4];

	XT_EQ(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	XT_OK(xt_add(queue, fd, READ, mode | (enabled_first ? 0 : XPOLL_DISABLE)));
	if (enabled_first)
		XT_OK(disable(queue, fd, READ, 3));
	struct xpoll_stats before = xt_stats(queue);
	for (int i = 0; i < rounds; i++) {
		/*
		 * Every second send consumes the socket's error, and the next datagram causes a new
		 * one.
		 */
		(void)send(fd, "x", 1, 0);
		XT_EQ(xpoll_event(queue, NULL, 0, events, 4, 0), 0);
	}
	XT_EXPECT(xt_stats(queue).fruitless - before.fruitless <= WAKE_BOUND);
	/* A filter that is enabled again reports both present and later data. */
	for (int i = 0; i < 3; i++) {
		char byte;

		while (i % 2 == 0 && xt_poll(fd, POLLIN) != 0)
			(void)recv(fd, &byte, 1, 0);
		XT_OK(xt_flag(queue, (uint64_t)fd, READ, i == 1 && !mode
		              ? XPOLL_ADD | XPOLL_ENABLE : XPOLL_ENABLE));
		if (i % 2 == 0)
			XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
		if (i == 0)
			XT_CALL(answer(fd, &own, peer, &address));
		while (xt_poll(fd, POLLIN) == 0)
			(void)send(fd, "x", 1, 0);
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		XT_EXPECT_EQ(event.filter, READ);
		XT_OK(xt_flag(queue, (uint64_t)fd, READ, XPOLL_DISABLE));
	}
	XT_OK(xt_flag(queue, (uint64_t)fd, READ, XPOLL_DELETE));
	xt_destroy(queue);
	xt_close(fd);
	xt_close(peer);
}

/*
 * EXCEPT is not ready for an error, but while it is enabled the kernel keeps reporting the socket.
 */
static void refused_beside_except(int mode)
{
	enum { ROUNDS = 400 };
	struct xpoll *queue = xt_open_quiet();
	struct sockaddr_in address;
	struct sockaddr_in own;
	int fd = xt_udp(&own);
	struct xpoll_event events[4];

	(void)xt_udp_refusing(&address);
	XT_EQ(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	XT_OK(xt_add(queue, fd, XPOLL_FILT_EXCEPT, mode));
	struct xpoll_stats before = xt_stats(queue);
	for (int i = 0; i < ROUNDS; i++) {
		(void)send(fd, "x", 1, 0);
		XT_EQ(xpoll_event(queue, NULL, 0, events, 4, 0), 0);
		XT_EQ(xpoll_event(queue, NULL, 0, events, 4, 0), 0);
	}
	XT_EXPECT(xt_stats(queue).fruitless - before.fruitless <= ROUNDS);
	/* The socket's error is still there. */
	XT_CHECK(stays_quiet(queue));
	xt_destroy(queue);
}

XT_TEST(enabled_except_is_woken_once_by_each_error)
{
	XT_NEEDS_EXCEPT();
	if (xt_is("afd"))
		XT_SKIP("the driver is not asked about what is disabled");
	for (size_t i = 0; i < VARIANTS; i++)
		XT_CALL(refused_beside_except(variants[i].mode));
}

XT_TEST(disable_refused_datagrams_wake_a_bounded_number_of_times)
{
	if (xt_is("afd"))
		XT_SKIP("the driver is not asked about what is disabled");
#ifndef __linux__
	/* The test needs hundreds of answers of ICMP, which another thread of the kernel sends. */
	XT_SKIP("this kernel sends few answers of ICMP a second");
#endif
	for (size_t i = 0; i < VARIANTS; i++)
		for (int enabled_first = 0; enabled_first < 2; enabled_first++)
			for (int rounds = 1; rounds < 1000; rounds += rounds < 24 ? 1 : 400)
				XT_CALL(refused_datagrams(variants[i].mode, enabled_first,
				                          rounds));
}

/*
 * S3: a server disables READ while it handles a request, and the peer goes on sending.  On epoll
 * the first report makes the entry edge-triggered, and the fourth edge takes the filter out of it.
 */
XT_TEST(disable_of_a_socket_under_traffic_wakes_at_most_five_times)
{
	enum { TURNS = 10, PIECES = 50, WAKES_MOST = 5 };

	for (int beside = 0; beside < 2; beside++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair pair = xt_socketpair(SOCK_STREAM);
		uint64_t ident = (uint64_t)pair.r;
		struct xpoll_event events[4];

		XT_OK(xt_add(queue, pair.r, READ, 0));
		if (beside)
			XT_OK(xt_add(queue, pair.r, WRITE, XPOLL_DISABLE));
		for (int turn = 0; turn < TURNS; turn++) {
			XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
			struct xpoll_stats before = xt_stats(queue);
			for (int i = 0; i < PIECES; i++) {
				xt_put(pair.w);
				XT_EQ(xpoll_event(queue, NULL, 0, events, 4, 0), 0);
			}
			XT_EXPECT(xt_stats(queue).fruitless - before.fruitless <= WAKES_MOST);
			XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
			XT_GETS(queue, NULL, ident, READ);
			for (int i = 0; i < PIECES; i++)
				XT_EQ(xt_get(pair.r), 'x');
		}
	}
}

/* S3, S10: the enabled direction is still delivered. */
XT_TEST(disable_one_direction_other_still_comes)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	uint64_t ident = (uint64_t)pair.r;

	XT_OK(xt_add(queue, pair.r, READ, 0));
	XT_OK(xt_add(queue, pair.r, WRITE, 0));
	xt_put(pair.w);
	for (int i = 0; i < 20; i++) {
		XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
		XT_GETS(queue, NULL, ident, WRITE);
		XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
		XT_OK(xt_flag(queue, ident, WRITE, XPOLL_DISABLE));
		XT_GETS(queue, NULL, ident, READ);
		XT_OK(xt_flag(queue, ident, WRITE, XPOLL_ENABLE));
	}
}

/* S3: an event for which the array had no room is not delivered after DISABLE. */
XT_TEST(disable_after_partial_take_is_silent)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair one = xt_pipe();
	struct xt_pair two = xt_pipe();
	struct xpoll_event event;

	XT_OK(xt_add(queue, one.r, READ, XPOLL_CLEAR));
	XT_OK(xt_add(queue, two.r, READ, XPOLL_CLEAR));
	xt_put(one.w);
	xt_put(two.w);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	int other = event.ident == (uint64_t)one.r ? two.r : one.r;
	XT_OK(xt_flag(queue, (uint64_t)other, READ, XPOLL_DISABLE));
	XT_NONE(queue);
	XT_OK(xt_flag(queue, (uint64_t)other, READ, XPOLL_ENABLE));
	XT_GETS(queue, NULL, other, READ);
}

/* S3: disabling or enabling a filter twice is like doing it once. */
XT_TEST(disable_and_enable_repeated_are_idempotent)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	uint64_t ident = (uint64_t)pipe.r;

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
	xt_put(pipe.w);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	XT_GETS(queue, NULL, ident, READ);
}
