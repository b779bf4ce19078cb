/*
 * Goal: NOTE_LOWAT of WRITE: the filter is ready when there is room for this
 * number of bytes.
 * Method: when an event has come, the test reads the room by SIOCOUTQ and
 * F_GETPIPE_SZ; with less room no event comes.
 */
#include "xt.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

static int mark(struct xpoll *queue, int fd, int flags, int64_t bytes)
{
	return xt_change(queue, (uint64_t)fd, WRITE, XPOLL_ADD | flags,
	                 XPOLL_NOTE_LOWAT, bytes, NULL);
}

static int pipe_size(int fd)
{
	return fcntl(fd, F_GETPIPE_SZ);
}

static int pipe_unread(int fd)
{
	int count = 0;

	(void)ioctl(fd, FIONREAD, &count);
	return count;
}

static int socket_size(int fd)
{
	int size = 0;
	socklen_t length = sizeof size;

	(void)getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, &length);
	return size;
}

static int socket_unsent(int fd)
{
	int count = 0;

	(void)ioctl(fd, SIOCOUTQ, &count);
	return count;
}

/* Read at most this number of bytes. */
static int take(int fd, int bytes)
{
	static char text[65536];
	ssize_t count = read(fd, text, (size_t)bytes);

	return count < 0 ? 0 : (int)count;
}

/* Fill the buffer, and read a little at a time until the room is reported. */
static void reported_when_there_is_room(struct xt_pair pair,
                                        int (*size)(int), int (*used)(int),
                                        int modes)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	int64_t room;

	xt_fill(pair.w);
	room = size(pair.w) / 4 * 3;
	XT_OK(mark(queue, pair.w, modes, room));
	XT_NONE(queue);
	XT_CHECK(take(pair.r, 4096) > 0);
	XT_CHECK(size(pair.w) - used(pair.w) < room);
	XT_NONE(queue);
	for (;;) {
		int count = xt_take(queue, &event, 1, 0);

		if (count > 0)
			break;
		(void)take(pair.r, 4096);
		/*
		 * All bytes that have arrived were read, and there is enough room: the event must
		 * come now.
		 */
		if (xt_poll(pair.r, POLLIN) == 0 &&
		    size(pair.w) - used(pair.w) >= room) {
			XT_GETS(queue, &event, pair.w, WRITE);
			break;
		}
	}
	XT_EXPECT_EQ(event.filter, WRITE);
	XT_EXPECT(size(pair.w) - used(pair.w) >= room);
	(void)xt_drain(pair.r);
}

XT_TEST(room_of_a_pipe_is_reported_from_the_mark_on)
{
	reported_when_there_is_room(xt_pipe(), pipe_size, pipe_unread, 0);
	reported_when_there_is_room(xt_pipe(), pipe_size, pipe_unread,
	                            XPOLL_CLEAR);
}

XT_TEST(room_of_a_unix_socket_is_reported_from_the_mark_on)
{
	reported_when_there_is_room(xt_socketpair(SOCK_STREAM), socket_size,
	                            socket_unsent, 0);
}

XT_TEST(room_of_a_tcp_socket_is_reported_from_the_mark_on)
{
	reported_when_there_is_room(xt_tcp(), socket_size, socket_unsent,
	                            XPOLL_ONESHOT);
}

/*
 * For the kernel the pipe is writable already, so it reports nothing more; the library checks the
 * room at intervals.
 */
XT_TEST(room_that_comes_while_a_thread_waits_is_reported)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xt_pair pair = xt_pipe();
	int room = pipe_size(pair.w) - 100;

	xt_fill(pair.w);
	XT_EQ(take(pair.r, 8192), 8192);
	XT_EQ(xt_poll(pair.w, POLLOUT), POLLOUT);
	XT_OK(mark(queue, pair.w, 0, room));
	XT_NONE(queue);
	(void)xt_drain(pair.r);
	XT_GETS(queue, &event, pair.w, WRITE);
	XT_GETS(queue, &event, pair.w, WRITE);
	XT_EQ(write(pair.w, "text", 4), 4);
	XT_GETS(queue, &event, pair.w, WRITE);
	/* A disabled or deleted filter is no longer checked. */
	xt_fill(pair.w);
	XT_EQ(take(pair.r, 8192), 8192);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, (uint64_t)pair.w, WRITE, XPOLL_DISABLE));
	XT_NONE(queue);
	XT_OK(xt_flag(queue, (uint64_t)pair.w, WRITE, XPOLL_ENABLE));
	XT_NONE(queue);
	XT_OK(xt_flag(queue, (uint64_t)pair.w, WRITE, XPOLL_DELETE));
	XT_NONE(queue);
}

/* The queue checks the room at increasing intervals, not all the time. */
XT_TEST(too_little_room_does_not_spin)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;
	struct xt_pair pair = xt_pipe();
	uint64_t before;

	xt_put(pair.w);
	XT_OK(mark(queue, pair.w, 0, pipe_size(pair.w)));
	before = xt_stats(queue).syscalls_wait;
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 100000000), 0);
	XT_EXPECT(xt_stats(queue).syscalls_wait - before < 30);
}

/* A program that polls the queue's descriptor is woken, too. */
XT_TEST(queue_fd_is_readable_when_there_is_room)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;
	struct xt_pair pair = xt_pipe();
	int fd = xpoll_fd(queue);
	int count = 0;

	if (fd < 0)
		return; /* back ends without a kernel queue */
	xt_fill(pair.w);
	XT_EQ(take(pair.r, 8192), 8192);
	XT_OK(mark(queue, pair.w, 0, pipe_size(pair.w)));
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	(void)xt_drain(pair.r);
	/*
	 * The queue's descriptor may be readable without an event when the room is to be checked.
	 */
	while (count == 0) {
		struct pollfd outside = {.fd = fd, .events = POLLIN};

		XT_EQ(poll(&outside, 1, 20000), 1);
		count = xpoll_event(queue, NULL, 0, &event, 1, 0);
	}
	XT_EQ(count, 1);
	XT_EXPECT_EQ(event.filter, WRITE);
}

XT_TEST(end_has_no_mark_for_writing)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xt_pair pair = xt_pipe();

	XT_OK(mark(queue, pair.w, 0, INT64_MAX));
	XT_NONE(queue);
	xt_close(pair.r);
	XT_GETS(queue, &event, pair.w, WRITE);
	XT_EXPECT(event.flags & XPOLL_EOF);
}

/* The same for a pipe without a reader; some kernels can read the room only from the closed end. */
XT_TEST(mark_of_a_pipe_that_nobody_reads_is_taken)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xt_pair pair = xt_pipe();

	xt_close(pair.r);
	XT_OK(mark(queue, pair.w, 0, 1));
	XT_GETS(queue, &event, pair.w, WRITE);
	XT_EXPECT(event.flags & XPOLL_EOF);
}

XT_TEST(both_directions_have_marks_of_their_own)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	uint64_t r = (uint64_t)pair.r;

	XT_OK(mark(queue, pair.r, 0, INT64_MAX));
	XT_OK(xt_change(queue, r, READ, XPOLL_ADD, XPOLL_NOTE_LOWAT, 2, NULL));
	xt_put(pair.w);
	XT_NONE(queue);
	XT_OK(xpoll_lookup(queue, r, READ, &event));
	XT_EXPECT_EQ(event.data, 2);
	XT_OK(xpoll_lookup(queue, r, WRITE, &event));
	XT_EXPECT_EQ(event.data, INT64_MAX);
	xt_put(pair.w);
	XT_GETS(queue, &event, pair.r, READ);
	XT_OK(xt_flag(queue, r, READ, XPOLL_DELETE));
	XT_NONE(queue);
	XT_OK(mark(queue, pair.r, 0, 1));
	XT_GETS(queue, &event, pair.r, WRITE);
}

XT_TEST(room_that_nobody_tells_is_refused)
{
	struct xpoll *queue = xt_open();
	struct xt_pair tty = xt_pty();

	XT_STATUS(mark(queue, tty.w, 0, 1), ENOTSUP);
	XT_STATUS(mark(queue, xt_file(""), 0, 1), ENOTSUP);
	XT_STATUS(mark(queue, xt_socketpair(SOCK_DGRAM).w, 0, 1), ENOTSUP);
}
