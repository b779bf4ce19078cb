/*
 * Goal: NOTE_COUNT and NOTE_SOERR (S12): the numbers of bytes, of waiting
 * connections, of free space, of bytes to the end of a file; and the socket's
 * error, but only for a program that requests it.
 * Method: the test calls FIONREAD, F_GETPIPE_SZ, fstat(2) and SO_ERROR and
 * compares.  Hazard 13: reading SO_ERROR clears it, so only the program may do
 * so.
 */
#include "xt.h"

#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/un.h>

#define COUNT XPOLL_NOTE_COUNT
#define SOERR XPOLL_NOTE_SOERR

static int add(struct xpoll *queue, int fd, int filter, uint32_t notes)
{
	return xt_change(queue, (uint64_t)fd, filter, XPOLL_ADD, notes, 0, NULL);
}

static void put(int fd, int bytes)
{
	static const char text[1000];

	if (write(fd, text, (size_t)bytes) != bytes)
		xt_fail(__FILE__, __LINE__, "write: %s", xt_error_name(errno));
}

static int so_error(int fd)
{
	int error = -1;
	socklen_t size = sizeof error;

	(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	return error;
}

static void counts_bytes(struct xt_pair pair)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	XT_OK(add(queue, pair.r, READ, COUNT));
	XT_NONE(queue);
	for (int bytes = 5; bytes < 500; bytes += 100) {
		put(pair.w, bytes);
		XT_CHECK(xt_poll_until(pair.r, POLLIN, POLLIN));
		int unread = 0;
		XT_OK(ioctl(pair.r, FIONREAD, &unread));
		XT_EQ(unread, bytes);
		XT_GETS(queue, &event, pair.r, READ);
		XT_EXPECT_EQ(event.data, bytes);
		XT_EXPECT_EQ(event.fflags, 0);
		XT_EQ(xt_drain(pair.r), bytes);
	}
	/* At end of file there may be unread bytes; after they are read the count is 0. */
	put(pair.w, 3);
	xt_close(pair.w);
	XT_CHECK(xt_poll_until(pair.r, POLLIN, POLLHUP));
	XT_GETS(queue, &event, pair.r, READ);
	XT_EXPECT(event.flags & XPOLL_EOF);
	XT_EXPECT_EQ(event.data, 3);
	XT_EQ(xt_drain(pair.r), 3);
	XT_GETS(queue, &event, pair.r, READ);
	XT_EXPECT(event.flags & XPOLL_EOF);
	XT_EXPECT_EQ(event.data, 0);
}

XT_TEST(count_of_a_pipe_is_its_bytes)
{
	counts_bytes(xt_pipe());
}

XT_TEST(count_of_a_stream_socket_is_its_bytes)
{
	counts_bytes(xt_socketpair(SOCK_STREAM));
}

XT_TEST(without_the_note_it_is_1)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xt_pair pipe = xt_pipe();

	put(pipe.w, 7);
	XT_OK(add(queue, pipe.r, READ, COUNT));
	XT_GETS(queue, &event, pipe.r, READ);
	XT_EXPECT_EQ(event.data, 7);
	XT_OK(xpoll_lookup(queue, (uint64_t)pipe.r, READ, &event));
	XT_EXPECT_EQ(event.fflags, COUNT);
	/* An ADD without the note removes it. */
	XT_OK(add(queue, pipe.r, READ, 0));
	XT_GETS(queue, &event, pipe.r, READ);
	XT_EXPECT_EQ(event.data, 1);
	XT_OK(xpoll_lookup(queue, (uint64_t)pipe.r, READ, &event));
	XT_EXPECT_EQ(event.fflags, 0);
	XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_DELETE));
	XT_OK(add(queue, pipe.r, READ, 0));
	XT_GETS(queue, &event, pipe.r, READ);
	XT_EXPECT_EQ(event.data, 1);
}

/* Returns false on illumos, which has no call for these counts. */
static bool counts_all(void)
{
	return !xt_sunos();
}

static const char no_count[] = "no call of this system tells how much";

XT_TEST(count_for_writing_is_the_room)
{
	if (!counts_all())
		XT_SKIP(no_count);
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xt_pair pipe = xt_pipe();
	int size = fcntl(pipe.w, F_GETPIPE_SZ);

	put(pipe.w, 10);
	XT_OK(add(queue, pipe.w, WRITE, COUNT));
	XT_GETS(queue, &event, pipe.w, WRITE);
	XT_EXPECT_EQ(event.data, size - 10);
	XT_OK(xt_flag(queue, (uint64_t)pipe.w, WRITE, XPOLL_DELETE));

	struct xt_pair sockets = xt_socketpair(SOCK_STREAM);
	int buffer = 0;
	socklen_t length = sizeof buffer;
	XT_OK(getsockopt(sockets.w, SOL_SOCKET, SO_SNDBUF, &buffer, &length));
	XT_OK(add(queue, sockets.w, WRITE, COUNT));
	XT_GETS(queue, &event, sockets.w, WRITE);
	int64_t before = event.data;
	XT_EXPECT(before > 0 && before <= buffer);
	put(sockets.w, 100);
	XT_GETS(queue, &event, sockets.w, WRITE);
	XT_EXPECT(event.data > 0 && event.data < before);
}

XT_TEST(count_of_a_pipe_follows_its_size)
{
	if (!counts_all())
		XT_SKIP(no_count);
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xt_pair pipe = xt_pipe();

	XT_OK(add(queue, pipe.w, WRITE, COUNT));
	XT_GETS(queue, &event, pipe.w, WRITE);
	XT_EXPECT_EQ(event.data, fcntl(pipe.w, F_GETPIPE_SZ));
	/* ADD makes the library read the pipe's size again. */
	XT_CHECK(fcntl(pipe.w, F_SETPIPE_SZ, 16384) > 0);
	XT_OK(add(queue, pipe.w, WRITE, COUNT));
	XT_GETS(queue, &event, pipe.w, WRITE);
	XT_EXPECT_EQ(event.data, fcntl(pipe.w, F_GETPIPE_SZ));
	/* An event also has the new size after 64 waits. */
	XT_CHECK(fcntl(pipe.w, F_SETPIPE_SZ, 32768) > 0);
	for (int i = 0; i < 64; i++)
		XT_GETS(queue, &event, pipe.w, WRITE);
	XT_EXPECT_EQ(event.data, fcntl(pipe.w, F_GETPIPE_SZ));
	/* An event also has the new size if the old size would mean that the pipe is full. */
	for (int left = fcntl(pipe.w, F_GETPIPE_SZ); left > 0; left -= 512)
		put(pipe.w, 512);
	XT_CHECK(fcntl(pipe.w, F_SETPIPE_SZ, 65536) > 0);
	XT_GETS(queue, &event, pipe.w, WRITE);
	XT_EXPECT_EQ(event.data, fcntl(pipe.w, F_GETPIPE_SZ) - 32768);
}

static bool kernel_tells_backlog(int listener, unsigned count)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof info;

	return getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
	       info.tcpi_unacked == count;
}

XT_TEST(count_of_a_listener_is_its_backlog)
{
	if (!counts_all())
		XT_SKIP(no_count);
	struct xpoll *queue = xt_open();
	struct sockaddr_in address;
	struct xpoll_event event;
	int listener = xt_listener(&address);

	XT_OK(add(queue, listener, READ, COUNT));
	for (int i = 1; i <= 3; i++) {
		int fd = xt_keep(socket(AF_INET, SOCK_STREAM, 0));

		XT_OK(connect(fd, (struct sockaddr *)&address, sizeof address));
		XT_GETS(queue, &event, listener, READ);
		if (!kernel_tells_backlog(listener, (unsigned)i))
			XT_SKIP("the kernel does not tell of a listener's queue");
		XT_EXPECT_EQ(event.data, i);
	}
	for (int i = 2; i > 0; i--) {
		(void)xt_keep(accept(listener, NULL, NULL));
		XT_GETS(queue, &event, listener, READ);
		XT_EXPECT_EQ(event.data, i);
	}
}

static void counts_unix_backlog(int type)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int listener = xt_socket(AF_UNIX, type);

	XT_OK(bind(listener, (struct sockaddr *)&name, sizeof(sa_family_t)));
	XT_OK(listen(listener, 5));
	socklen_t length = sizeof name;
	XT_OK(getsockname(listener, (struct sockaddr *)&name, &length));
	XT_OK(add(queue, listener, READ, COUNT));
	XT_NONE(queue);
	for (int i = 1; i <= 3; i++) {
		XT_OK(connect(xt_socket(AF_UNIX, type),
		              (struct sockaddr *)&name, length));
		XT_GETS(queue, &event, listener, READ);
		XT_EXPECT_EQ(event.data, i);
	}
	for (int i = 2; i > 0; i--) {
		(void)xt_keep(accept(listener, NULL, NULL));
		XT_GETS(queue, &event, listener, READ);
		XT_EXPECT_EQ(event.data, i);
	}
}

/* Returns true if this system reports queues of UNIX-domain sockets; a sandbox may prevent that. */
static bool has_diagnosis(void)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG);
	struct {
		struct nlmsghdr header;
		struct unix_diag_req request;
	} dump = {
		.header = {sizeof dump, SOCK_DIAG_BY_FAMILY,
		           NLM_F_REQUEST | NLM_F_DUMP, 0, 0},
		.request = {.sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX},
	};
	struct nlmsghdr answer = {0};

	return fd >= 0 && send(xt_keep(fd), &dump, sizeof dump, 0) > 0 &&
		recv(fd, &answer, sizeof answer, MSG_TRUNC) > 0 &&
		answer.nlmsg_type != NLMSG_ERROR;
}

XT_TEST(count_of_a_unix_listener_is_its_backlog)
{
	if (!counts_all())
		XT_SKIP(no_count);
	if (!has_diagnosis())
		XT_SKIP("the kernel does not tell of UNIX-domain sockets");
	counts_unix_backlog(SOCK_STREAM);
	counts_unix_backlog(SOCK_SEQPACKET);
}

/* Linux has no count for these files: see DIFFERENCES.md. */
XT_TEST(count_of_what_nobody_counts_is_1)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	int counter = xt_eventfd();
	uint64_t count = 5;

	XT_EQ(write(counter, &count, sizeof count), (ssize_t)sizeof count);
	XT_OK(add(queue, counter, READ, COUNT));
	XT_GETS(queue, &event, counter, READ);
	XT_EXPECT_EQ(event.data, 1);
	XT_OK(xt_flag(queue, (uint64_t)counter, READ, XPOLL_DELETE));
	int directory = xt_open_path("/tmp", O_RDONLY | O_DIRECTORY);
	XT_OK(add(queue, directory, READ, COUNT));
	XT_GETS(queue, &event, directory, READ);
	XT_EXPECT_EQ(event.data, 1);
}

XT_TEST(count_of_a_terminal_that_hung_up_is_0)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pty = xt_pty();
	struct xpoll_event event;

	XT_OK(xt_change(queue, (uint64_t)pty.r, READ, XPOLL_ADD, XPOLL_NOTE_COUNT, 0, NULL));
	xt_put(pty.w);
	XT_CHECK(xt_poll_until(pty.r, POLLIN, POLLIN));
	XT_GETS(queue, &event, pty.r, READ);
	XT_EXPECT_EQ(event.data, 1);
	XT_EQ(xt_get(pty.r), 'x');
	xt_close(pty.w);
	XT_CHECK(xt_poll_until(pty.r, POLLHUP, POLLHUP));
	XT_GETS(queue, &event, pty.r, READ);
	XT_EXPECT_EQ(event.data, 0);
	XT_EXPECT_EQ(event.flags, XPOLL_EOF);
}

XT_TEST(count_of_a_file_is_what_is_left_and_may_be_negative)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	int file = xt_file("0123456789");

	XT_OK(add(queue, file, READ, COUNT));
	XT_GETS(queue, &event, file, READ);
	XT_EXPECT_EQ(event.data, 10);
	XT_EQ(lseek(file, 7, SEEK_SET), 7);
	XT_GETS(queue, &event, file, READ);
	XT_EXPECT_EQ(event.data, 3);
	XT_EQ(lseek(file, 10, SEEK_SET), 10);
	XT_NONE(queue);
	XT_EQ(lseek(file, 25, SEEK_SET), 25);
	XT_GETS(queue, &event, file, READ);
	XT_EXPECT_EQ(event.data, -15);
}

/* Returns a connection to a port that has no listener. */
static int refused(void)
{
	struct sockaddr_in address;
	int listener = xt_listener(&address);
	int fd = xt_socket(AF_INET, SOCK_STREAM);

	xt_close(listener);
	(void)connect(fd, (struct sockaddr *)&address, sizeof address);
	(void)xt_poll_until(fd, POLLOUT, POLLHUP);
	return fd;
}

XT_TEST(hazard_13_error_of_a_socket_is_left_alone)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	int fd = refused();

	XT_OK(add(queue, fd, READ, COUNT));
	XT_GETS(queue, &event, fd, READ);
	XT_EXPECT(event.flags & XPOLL_EOF);
	XT_EXPECT_EQ(event.fflags, 0);
	XT_EXPECT_EQ(so_error(fd), ECONNREFUSED);
}

XT_TEST(hazard_13_error_of_a_socket_is_told_to_who_asks)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event events[4] = {0};
	int fd = refused();

	XT_OK(add(queue, fd, READ, SOERR));
	XT_OK(add(queue, fd, WRITE, SOERR | COUNT));
	XT_EQ(xpoll_event(queue, NULL, 0, events, 4, XT_SOON), 2);
	for (int i = 0; i < 2; i++) {
		XT_EXPECT(events[i].flags & XPOLL_EOF);
		XT_EXPECT_EQ(events[i].fflags, ECONNREFUSED);
	}
	/* The event has cleared the socket's error. */
	XT_EXPECT_EQ(so_error(fd), 0);
}

XT_TEST(reset_of_a_connection_is_told_to_who_asks)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xt_pair tcp = xt_tcp();

	XT_OK(xt_change(queue, (uint64_t)tcp.r, READ, XPOLL_ADD | XPOLL_ONESHOT,
	                SOERR, 0, NULL));
	XT_NONE(queue);
	xt_reset(tcp);
	XT_CHECK(xt_poll_until(tcp.r, POLLIN, POLLHUP));
	XT_GETS(queue, &event, tcp.r, READ);
	XT_EXPECT(event.flags & XPOLL_EOF);
	XT_EXPECT_EQ(event.fflags, ECONNRESET);
}

/* The end of a socket without an error, and of a file that is not a socket, has the error 0. */
XT_TEST(end_without_an_error_has_none)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xt_pair pairs[2] = {xt_pipe(), xt_socketpair(SOCK_STREAM)};

	for (int i = 0; i < 2; i++) {
		XT_OK(add(queue, pairs[i].r, READ, SOERR));
		xt_close(pairs[i].w);
		XT_GETS(queue, &event, pairs[i].r, READ);
		XT_EXPECT(event.flags & XPOLL_EOF);
		XT_EXPECT_EQ(event.fflags, 0);
		XT_OK(xt_flag(queue, (uint64_t)pairs[i].r, READ, XPOLL_DELETE));
	}
}

XT_TEST(supports_tells_the_truth)
{
	struct xpoll *queue = xt_open();

	for (int filter = WRITE; filter <= READ; filter++) {
		XT_EXPECT_EQ(xpoll_supports(queue, filter, COUNT | SOERR), 1);
		XT_EXPECT_EQ(xpoll_supports(queue, filter, XPOLL_NOTE_LOWAT), 1);
	}
	/* Some systems have no call that returns the number of unsent bytes. */
	XT_EXPECT_EQ(xpoll_supports(queue, XPOLL_FILT_EMPTY, 0),
	             xt_add(queue, xt_socketpair(SOCK_STREAM).w,
	                    XPOLL_FILT_EMPTY, 0) == 0);
	XT_EXPECT_EQ(xpoll_supports(queue, XPOLL_FILT_EMPTY, COUNT), 0);
}
