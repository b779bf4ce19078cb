/*
 * Goal: NOTE_LOWAT of READ: the filter is ready from this number of bytes on,
 * and at once at an end or an error; the program's data and socket options are
 * not changed, and there is no busy loop.
 * Method: bytes are written one at a time; the test calls FIONREAD and
 * SO_RCVLOWAT.
 */
#include "xt.h"

#include <sys/ioctl.h>

#define LOWAT XPOLL_NOTE_LOWAT

static int mark(struct xpoll *queue, int fd, int flags, int64_t bytes)
{
	return xt_change(queue, (uint64_t)fd, READ, XPOLL_ADD | flags, LOWAT,
	                 bytes, NULL);
}

/* Write this number of bytes, and wait until they have arrived, which takes TCP some time. */
static void put(struct xt_pair pair, int bytes)
{
	static const char text[1000];
	int before = 0;
	int now = 0;

	(void)ioctl(pair.r, FIONREAD, &before);
	if (write(pair.w, text, (size_t)bytes) != bytes)
		xt_fail(__FILE__, __LINE__, "write: %s", xt_error_name(errno));
	while (now < before + bytes && ioctl(pair.r, FIONREAD, &now) == 0)
		;
}

static void take(int fd, int bytes)
{
	char text[1000];

	XT_EXPECT_EQ(read(fd, text, (size_t)bytes), bytes);
}

static void ready_from_the_mark_on(struct xt_pair pair)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	int unread = 0;

	put(pair, 2);
	XT_OK(mark(queue, pair.r, 0, 10));
	XT_NONE(queue);
	put(pair, 7);
	XT_NONE(queue);
	put(pair, 1);
	/* Level-triggered: each wait delivers it. */
	for (int i = 0; i < 3; i++) {
		XT_GETS(queue, &event, pair.r, READ);
		XT_EXPECT_EQ(event.flags, 0);
		XT_EXPECT_EQ(event.data, 1);
	}
	XT_OK(ioctl(pair.r, FIONREAD, &unread));
	XT_EQ(unread, 10);
	take(pair.r, 1);
	XT_NONE(queue);
	put(pair, 1);
	XT_GETS(queue, &event, pair.r, READ);
	take(pair.r, 10);
	XT_NONE(queue);
	put(pair, 100);
	XT_GETS(queue, &event, pair.r, READ);
}

XT_TEST(mark_of_a_pipe_is_kept)
{
	ready_from_the_mark_on(xt_pipe());
}

XT_TEST(mark_of_a_unix_socket_is_kept)
{
	ready_from_the_mark_on(xt_socketpair(SOCK_STREAM));
}

XT_TEST(mark_of_a_tcp_socket_is_kept)
{
	ready_from_the_mark_on(xt_tcp());
}

XT_TEST(mark_of_a_terminal_is_kept)
{
	ready_from_the_mark_on(xt_pty());
}

static void end_has_no_mark(struct xt_pair pair, int modes)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	XT_OK(mark(queue, pair.r, modes, 10));
	put(pair, 3);
	XT_NONE(queue);
	xt_close(pair.w);
	XT_CHECK(xt_poll_until(pair.r, POLLIN, POLLIN) &&
	         xt_poll_until(pair.r, POLLIN | POLLRDHUP, 0));
	XT_GETS(queue, &event, pair.r, READ);
	XT_EXPECT(event.flags & XPOLL_EOF);
	XT_OK(xt_flag(queue, (uint64_t)pair.r, READ, XPOLL_DELETE));
	/* The socket has enough data already when the low-water mark is set. */
	XT_OK(mark(queue, pair.r, modes, 10));
	XT_GETS(queue, &event, pair.r, READ);
	XT_EXPECT(event.flags & XPOLL_EOF);
	XT_EQ(xt_drain(pair.r), 3);
}

XT_TEST(end_below_the_mark_is_reported)
{
	end_has_no_mark(xt_pipe(), 0);
	end_has_no_mark(xt_pipe(), XPOLL_CLEAR);
	end_has_no_mark(xt_socketpair(SOCK_STREAM), 0);
	end_has_no_mark(xt_socketpair(SOCK_STREAM), XPOLL_DISPATCH);
	end_has_no_mark(xt_tcp(), 0);
}

XT_TEST(error_below_the_mark_is_reported)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xt_pair tcp = xt_tcp();

	XT_OK(mark(queue, tcp.r, 0, 10));
	XT_NONE(queue);
	xt_reset(tcp);
	XT_GETS(queue, &event, tcp.r, READ);
	XT_EXPECT(event.flags & XPOLL_EOF);
}

/* The kernel does not count the bytes behind urgent data, so READ is ready below the mark. */
XT_TEST(urgent_data_below_the_mark_is_enough)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xt_pair tcp = xt_tcp();

	XT_OK(mark(queue, tcp.r, 0, 10));
	put(tcp, 3);
	XT_EQ(send(tcp.w, "!", 1, MSG_OOB), 1);
	XT_CHECK(xt_poll_until(tcp.r, POLLPRI, POLLPRI));
	XT_GETS(queue, &event, tcp.r, READ);
}

/* The low-water mark belongs to the registration; SO_RCVLOWAT of the socket is unchanged. */
XT_TEST(marks_of_two_queues_are_two)
{
	struct xpoll *low = xt_open();
	struct xpoll *high = xt_open();
	struct xpoll_event event;
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	int own = 0;
	socklen_t size = sizeof own;

	XT_OK(mark(low, pair.r, 0, 4));
	XT_OK(mark(high, pair.r, 0, 8));
	XT_OK(getsockopt(pair.r, SOL_SOCKET, SO_RCVLOWAT, &own, &size));
	XT_EQ(own, 1);
	put(pair, 4);
	XT_GETS(low, &event, pair.r, READ);
	XT_NONE(high);
	put(pair, 4);
	XT_GETS(low, &event, pair.r, READ);
	XT_GETS(high, &event, pair.r, READ);
	XT_EXPECT(xt_poll(pair.r, POLLIN) == POLLIN);
}

XT_TEST(clear_with_a_mark_tells_of_each_arrival_from_there_on)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_OK(mark(queue, pair.r, XPOLL_CLEAR, 10));
	put(pair, 9);
	XT_NONE(queue);
	put(pair, 1);
	XT_GETS(queue, &event, pair.r, READ);
	XT_NONE(queue);
	put(pair, 1);
	XT_GETS(queue, &event, pair.r, READ);
	XT_NONE(queue);
	take(pair.r, 11);
	put(pair, 9);
	XT_NONE(queue);
}

XT_TEST(oneshot_with_a_mark_comes_once)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xt_pair pair = xt_pipe();

	XT_OK(mark(queue, pair.r, XPOLL_ONESHOT, 10));
	put(pair, 9);
	XT_NONE(queue);
	put(pair, 1);
	XT_GETS(queue, &event, pair.r, READ);
	XT_NONE(queue);
	XT_STATUS(xt_flag(queue, (uint64_t)pair.r, READ, XPOLL_DELETE), ENOENT);
}

XT_TEST(dispatch_with_a_mark_comes_once_per_enable)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xt_pair pair = xt_pipe();

	XT_OK(mark(queue, pair.r, XPOLL_DISPATCH, 10));
	for (int i = 0; i < 20; i++) {
		put(pair, 9);
		XT_NONE(queue);
		put(pair, 1);
		XT_GETS(queue, &event, pair.r, READ);
		XT_NONE(queue);
		XT_OK(xt_flag(queue, (uint64_t)pair.r, READ, XPOLL_ENABLE));
		XT_GETS(queue, &event, pair.r, READ);
		take(pair.r, 10);
		XT_OK(xt_flag(queue, (uint64_t)pair.r, READ, XPOLL_ENABLE));
		XT_NONE(queue);
	}
}

XT_TEST(mark_is_changed_by_an_add)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xt_pair pair = xt_pipe();
	uint64_t r = (uint64_t)pair.r;

	XT_OK(mark(queue, pair.r, 0, INT64_MAX));
	put(pair, 5);
	XT_NONE(queue);
	XT_OK(xpoll_lookup(queue, r, READ, &event));
	XT_EXPECT_EQ(event.fflags, LOWAT);
	XT_EXPECT_EQ(event.data, INT64_MAX);
	XT_OK(mark(queue, pair.r, 0, 5));
	XT_GETS(queue, &event, pair.r, READ);
	XT_OK(mark(queue, pair.r, 0, 6));
	XT_NONE(queue);
	/* An invalid mark is refused, and the old one stays. */
	XT_STATUS(mark(queue, pair.r, 0, 0), EINVAL);
	XT_OK(xpoll_lookup(queue, r, READ, &event));
	XT_EXPECT_EQ(event.data, 6);
	XT_NONE(queue);
	/* ADD without the note removes the mark. */
	XT_OK(xt_add(queue, pair.r, READ, 0));
	XT_GETS(queue, &event, pair.r, READ);
	XT_OK(xpoll_lookup(queue, r, READ, &event));
	XT_EXPECT_EQ(event.fflags, 0);
	XT_EXPECT_EQ(event.data, 0);
	XT_OK(mark(queue, pair.r, 0, 6));
	XT_NONE(queue);
}

XT_TEST(disabled_with_a_mark_is_silent)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xt_pair pair = xt_pipe();

	XT_OK(mark(queue, pair.r, XPOLL_DISABLE, 3));
	put(pair, 3);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, (uint64_t)pair.r, READ, XPOLL_ENABLE));
	XT_GETS(queue, &event, pair.r, READ);
	XT_OK(xt_flag(queue, (uint64_t)pair.r, READ, XPOLL_DISABLE));
	XT_NONE(queue);
	take(pair.r, 1);
	XT_OK(xt_flag(queue, (uint64_t)pair.r, READ, XPOLL_ENABLE));
	XT_NONE(queue);
}

XT_TEST(mark_beside_a_ready_direction_is_kept)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event events[4];
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_OK(mark(queue, pair.r, 0, 10));
	XT_OK(xt_add(queue, pair.r, WRITE, 0));
	for (int bytes = 0; bytes < 10; bytes++) {
		XT_EQ(xt_take(queue, events, 4, XT_SOON), 1);
		XT_EXPECT_EQ(events[0].filter, WRITE);
		put(pair, 1);
	}
	/* Disabling one direction does not affect the other one's mark. */
	XT_OK(xt_flag(queue, (uint64_t)pair.r, WRITE, XPOLL_DISABLE));
	XT_GETS(queue, events, pair.r, READ);
	take(pair.r, 1);
	XT_NONE(queue);
}

/* The kernel reports each arrival at most once, so the wait sleeps. */
XT_TEST(below_the_mark_a_wait_sleeps)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;
	struct xt_pair pairs[] = {xt_pipe(), xt_socketpair(SOCK_STREAM), xt_tcp(),
	                          xt_pty()};
	uint64_t before;

	for (int i = 0; i < 4; i++)
		XT_OK(mark(queue, pairs[i].r, 0, 10));
	for (int i = 0; i < 4; i++)
		put(pairs[i], 9);
	before = xt_stats(queue).syscalls_wait;
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 50000000), 0);
	XT_EXPECT(xt_stats(queue).syscalls_wait - before <= 8);
}

static void wait_for_one(void *opaque)
{
	struct xpoll *queue = opaque;
	struct xpoll_event event;

	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
}

XT_TEST(sleeper_is_woken_when_the_mark_is_reached)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_pipe();
	struct xt_thread *thread;

	XT_OK(mark(queue, pair.r, XPOLL_ONESHOT, 10));
	thread = xt_start(wait_for_one, queue);
	for (int i = 0; i < 10; i++) {
		xt_asleep(thread);
		XT_EXPECT(!xt_done(thread));
		xt_put(pair.w);
	}
	xt_join(thread);
}

XT_TEST(poll_like_level_keeps_the_mark)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_pipe();

	XT_OK(mark(queue, pair.r, 0, 10));
	put(pair, 9);
	XT_EQ(xpoll_wait(queue, 0), 0);
	put(pair, 1);
	for (int i = 0; i < 3; i++) {
		XT_EQ(xpoll_wait(queue, -1), 1);
		XT_EQ(xpoll_revents(queue, NULL), POLLIN);
	}
	take(pair.r, 1);
	XT_EQ(xpoll_wait(queue, 0), 0);
	/* ADD at the poll-like level removes the mark. */
	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, pair.r, NULL), 0);
	XT_EQ(xpoll_wait(queue, 0), 1);
}

/* The queue's descriptor may be readable a few times without an event, but not again and again. */
XT_TEST(queue_fd_is_quiet_below_the_mark)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;
	struct xt_pair pair = xt_pipe();
	int fd = xpoll_fd(queue);

	if (fd < 0)
		return; /* back ends without a kernel queue */
	XT_OK(mark(queue, pair.r, 0, 10));
	put(pair, 9);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	XT_EQ(xt_poll(fd, POLLIN), 0);
	put(pair, 1);
	XT_CHECK(xt_now_readable(queue));
	XT_GETS(queue, &event, pair.r, READ);
	XT_CHECK(xt_now_readable(queue));
}

XT_TEST(listener_is_ready_from_one_connection_on)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct sockaddr_in address;
	int listener = xt_listener(&address);
	int client = xt_socket(AF_INET, SOCK_STREAM);

	XT_OK(mark(queue, listener, 0, 1000));
	XT_NONE(queue);
	(void)connect(client, (struct sockaddr *)&address, sizeof address);
	XT_GETS(queue, &event, listener, READ);
}

static void mark_in_child(void *opaque)
{
	struct xpoll *queue = opaque;
	struct xpoll_event event;
	struct xt_pair pair = xt_pipe();

	XT_EQ(xpoll_reinit(queue), 0);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	XT_OK(mark(queue, pair.r, 0, 2));
	put(pair, 2);
	XT_GETS(queue, &event, pair.r, READ);
}

XT_TEST(mark_is_kept_by_reinit)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_pipe();

	XT_OK(mark(queue, pair.r, 0, 10));
	put(pair, 9);
	XT_CHECK(xt_child(mark_in_child, queue));
}

/*
 * A low-water mark for a file that the kernel does not count in bytes is refused, and changes
 * nothing.
 */
XT_TEST(what_has_no_count_is_refused)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	int fds[] = {xt_file("text"), xt_open_path("/", O_RDONLY),
	             xt_open_path("/dev/null", O_RDWR), xt_eventfd(),
	             xt_socketpair(SOCK_DGRAM).r, xt_udp(&(struct sockaddr_in){0})};

	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
		if (fds[i] < 0)
			continue;
		XT_STATUS(mark(queue, fds[i], 0, 1), ENOTSUP);
		XT_FAILS(xpoll_lookup(queue, (uint64_t)fds[i], READ, &event),
		         ENOENT);
		XT_OK(xt_add(queue, fds[i], READ, XPOLL_DISABLE));
		XT_STATUS(mark(queue, fds[i], 0, 1), ENOTSUP);
		XT_OK(xpoll_lookup(queue, (uint64_t)fds[i], READ, &event));
		XT_EXPECT_EQ(event.fflags, 0);
		XT_EXPECT(event.flags & XPOLL_DISABLE);
	}
	XT_STATUS(mark(queue, 900, 0, 1), EBADF);
}

XT_TEST(many_with_marks_all_come_with_room_for_one)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;
	struct xt_pair pairs[40];
	int seen[40] = {0};
	int left = 20;

	for (int i = 0; i < 40; i++) {
		pairs[i] = xt_pipe();
		XT_OK(xt_change(queue, (uint64_t)pairs[i].r, READ, XPOLL_ADD, LOWAT,
		                10, &seen[i]));
		put(pairs[i], i % 2 ? 10 : 9);
	}
	for (int waits = 0; left > 0 && waits < 1000; waits++) {
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		left -= (*(int *)event.udata)++ == 0;
	}
	for (int i = 0; i < 40; i++)
		XT_EXPECT_EQ(seen[i] > 0, i % 2);
}
