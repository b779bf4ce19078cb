/*
 * Goal: end of file and errors are delivered as S12 says; SO_ERROR is left to
 * the program (hazard 13).
 * Method: every way in which a pipe and a UNIX, TCP or UDP socket can end, with
 * the flags that READ and WRITE must carry; level-triggered and CLEAR.
 */
#include "xt.h"

#include <sys/stat.h>

#define ANY (-1)   /* the event is optional, with any flags */
#define QUIET (-2) /* the event must not come */

/* Add READ and WRITE, and wait until the expected events have come with these EOF flags. */
static void expect(int fd, int mode, int read_eof, int write_eof)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event events[4];
	int wanted[2] = {read_eof, write_eof};

	XT_OK(xt_add(queue, fd, READ, mode));
	/* Some kernels with kqueue(2) refuse WRITE of a pipe whose other end is closed. */
	int rc = xt_add(queue, fd, WRITE, mode);

	if (write_eof != ANY || !xt_lacks_user_events())
		XT_OK(rc);
	int count = xt_take(queue, events, 4, 0);
	for (int i = 0; i < 2; i++) {
		int filter = i == 0 ? READ : WRITE;
		int at = xt_find(events, count, (uint64_t)fd, filter);

		if (wanted[i] == ANY)
			continue;
		if (wanted[i] == QUIET) {
			XT_EXPECT_EQ(at, -1);
			continue;
		}
		if (!XT_EXPECT(at >= 0)) {
			xt_note("no %s of fd %d", xt_filter_name(filter), fd);
			continue;
		}
		XT_EXPECT_EQ((events[at].flags & XPOLL_EOF) != 0, wanted[i]);
		/* Without NOTE_SOERR the event does not carry the socket's error. */
		XT_EXPECT_EQ(events[at].fflags, 0);
	}
	xt_destroy(queue);
}

static void expect_both_modes(int fd, int read_eof, int write_eof)
{
	XT_CALL(expect(fd, 0, read_eof, write_eof));
	XT_CALL(expect(fd, XPOLL_CLEAR, read_eof, write_eof));
}

static int so_error(int fd)
{
	int error = 0;
	socklen_t length = sizeof error;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
		return -1;
	return error;
}

XT_TEST(pipe_writer_gone_read_is_eof)
{
	struct xt_pair pipe = xt_pipe();

	xt_close(pipe.w);
	XT_CALL(expect_both_modes(pipe.r, 1, ANY));
}

XT_TEST(pipe_writer_gone_with_bytes_read_is_eof_and_bytes_are_there)
{
	if (xt_wine())
		XT_SKIP(XT_WINE_PEEKS);
	struct xt_pair pipe = xt_pipe();

	xt_put(pipe.w);
	xt_close(pipe.w);
	XT_CALL(expect_both_modes(pipe.r, 1, ANY));
	XT_EQ(xt_get(pipe.r), 'x');
	XT_CALL(expect_both_modes(pipe.r, 1, ANY));
	XT_EQ(xt_get(pipe.r), 0);
}

XT_TEST(pipe_reader_gone_write_is_eof)
{
	XT_NEEDS_USER_EVENTS();
	if (xt_is("afd"))
		XT_SKIP("no WRITE of pipes here");
	struct xt_pair pipe = xt_pipe();

	xt_close(pipe.r);
	XT_CALL(expect_both_modes(pipe.w, 1, 1));
	struct xt_pair full = xt_pipe();
	xt_fill(full.w);
	xt_close(full.r);
	XT_CALL(expect_both_modes(full.w, 1, 1));
}

XT_TEST(unix_peer_shut_writing_read_is_eof_write_is_not)
{
	if (xt_wine())
		XT_SKIP(XT_WINE_PEEKS);
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	xt_put(pair.w);
	XT_EQ(shutdown(pair.w, SHUT_WR), 0);
	XT_CALL(expect_both_modes(pair.r, 1, 0));
	XT_EQ(xt_get(pair.r), 'x');
	XT_CALL(expect_both_modes(pair.r, 1, 0));
	xt_put(pair.r);
}

XT_TEST(unix_peer_closed_both_are_eof)
{
	if (xt_is("afd"))
		XT_SKIP(XT_NO_UNIX);
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	xt_close(pair.w);
	XT_CALL(expect_both_modes(pair.r, 1, 1));
}

XT_TEST(seqpacket_peer_closed_both_are_eof)
{
	struct xt_pair pair = xt_socketpair(SOCK_SEQPACKET);

	xt_put(pair.w);
	xt_close(pair.w);
	XT_CALL(expect_both_modes(pair.r, 1, 1));
}

/* Reason for a skip: this system's poll(2) is made of select(2), which reports no half-closes. */
static const char no_poll[] = "no poll(2) that tells of this here";

XT_TEST(tcp_peer_shut_writing_read_is_eof_write_is_not)
{
	if (xt_is("afd"))
		XT_SKIP(no_poll);
	struct xt_pair tcp = xt_tcp();

	xt_put(tcp.w);
	XT_EQ(shutdown(tcp.w, SHUT_WR), 0);
	XT_CHECK(xt_poll_until(tcp.r, POLLIN, POLLIN));
	XT_CHECK(xt_ended(tcp.r));
	XT_CALL(expect_both_modes(tcp.r, 1, 0));
	XT_EQ(xt_get(tcp.r), 'x');
	XT_CALL(expect_both_modes(tcp.r, 1, 0));
}

XT_TEST(tcp_peer_shut_with_nothing_unread_read_is_eof_write_is_not)
{
	struct xt_pair tcp = xt_tcp();

	XT_EQ(shutdown(tcp.w, SHUT_WR), 0);
	XT_CHECK(xt_poll_until(tcp.r, POLLIN, POLLIN));
	XT_CALL(expect_both_modes(tcp.r, 1, 0));
	xt_put(tcp.r);
	XT_EQ(xt_get(tcp.r), 0);
}

/* The poll-like level can request the end of file alone. */
XT_TEST(rdhup_alone_is_told_with_nothing_unread)
{
	XT_NEEDS_RDHUP();
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLRDHUP, pair.r, NULL), 0);
	for (int i = 0; i < 3; i++) {
		xt_put(pair.w);
		XT_EQ(xpoll_wait(queue, 0), 0);
		XT_EQ(xt_drain(pair.r), 1);
	}
	XT_EQ(shutdown(pair.w, SHUT_WR), 0);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLRDHUP);
}

/* Some kernels apply a low-water mark to sockets only, and report the data of other files. */
XT_TEST(rdhup_alone_of_unread_data_is_silent_at_either_level)
{
	XT_NEEDS_RDHUP();
	struct xt_pair pairs[] = {xt_socketpair(SOCK_STREAM), xt_pipe(), xt_pty()};
	struct xpoll_event event;

	for (int i = 0; i < 3; i++) {
		struct xpoll *queue = xt_open();

		if (pairs[i].r < 0)
			continue;
		xt_put(pairs[i].w);
		XT_CHECK(xt_poll_until(pairs[i].r, POLLIN, POLLIN));
		XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLRDHUP, pairs[i].r, NULL), 0);
		for (int round = 0; round < 3; round++) {
			XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
			XT_EQ(xpoll_wait(queue, 0), 0);
		}
		/* A registration that also requests data gets the event of the data. */
		XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, pairs[i].r, NULL), 0);
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 1);
		XT_EQ(event.flags & XPOLL_EOF, 0);
		xt_destroy(queue);
	}
}

XT_TEST(tcp_reset_both_are_eof)
{
	struct xt_pair tcp = xt_tcp();

	xt_reset(tcp);
	XT_CHECK(xt_poll_until(tcp.r, POLLIN, XT_RESET));
	XT_CALL(expect_both_modes(tcp.r, 1, 1));
}

XT_TEST(tcp_data_without_end_is_not_eof)
{
	struct xt_pair tcp = xt_tcp();

	xt_put(tcp.w);
	XT_CHECK(xt_poll_until(tcp.r, POLLIN, POLLIN));
	XT_CALL(expect_both_modes(tcp.r, 0, 0));
	XT_EQ(xt_get(tcp.r), 'x');
	XT_CALL(expect_both_modes(tcp.r, QUIET, 0));
}

/* Hazard 13: a reset connection's SO_ERROR can still be read by the program. */
XT_TEST(hazard_13_reset_leaves_so_error_to_the_program)
{
	if (xt_is("afd"))
		XT_SKIP(no_poll);
	struct xt_pair tcp = xt_tcp();

	xt_put(tcp.w);
	xt_reset(tcp);
	/* The socket has been reset once it has an error. */
	XT_CHECK(xt_poll_until(tcp.r, POLLIN, XT_RESET));
	XT_CALL(expect_both_modes(tcp.r, 1, 1));
	XT_EQ(so_error(tcp.r), ECONNRESET);
}

/*
 * Hazard 13: the same for a refused connection; otherwise the program would take it for a good one.
 */
XT_TEST(hazard_13_refused_connect_leaves_so_error_to_the_program)
{
	if (xt_is("afd"))
		XT_SKIP(no_poll);
	struct sockaddr_in address;
	int listener = xt_listener(&address);
	int fd = xt_socket(AF_INET, SOCK_STREAM);

	xt_close(listener);
	if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0 &&
	    errno != EINPROGRESS)
		XT_SKIP("connect fails at once here");
	XT_CHECK(xt_poll_until(fd, POLLOUT, POLLOUT | POLLERR));
	XT_CALL(expect_both_modes(fd, ANY, 1));
	XT_EQ(so_error(fd), ECONNREFUSED);
}

/* A connecting socket is registered before the connection is made. */
XT_TEST(connect_in_progress_write_comes_when_connected)
{
	struct sockaddr_in address;
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	int listener = xt_listener(&address);
	int fd = xt_socket(AF_INET, SOCK_STREAM);
	int rc = connect(fd, (struct sockaddr *)&address, sizeof address);

	XT_CHECK(rc == 0 || errno == EINPROGRESS);
	XT_OK(xt_add(queue, fd, WRITE, XPOLL_ONESHOT));
	XT_OK(xt_add(queue, listener, READ, 0));
	for (int seen = 0; seen != 3;) {
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
		seen |= event.ident == (uint64_t)fd ? 1 : 2;
		XT_EXPECT_EQ(event.flags & XPOLL_EOF, 0);
	}
	XT_EQ(so_error(fd), 0);
}

/*
 * An error is not the end of a UDP socket: the next datagram may arrive.
 * Complaint: Half-close, end of file and reset are mixed up.
 */
XT_TEST(hazard_13_udp_error_is_not_eof)
{
	if (xt_is("afd"))
		XT_SKIP(no_poll);
	struct sockaddr_in address;
	int fd = xt_socket(AF_INET, SOCK_DGRAM);

	(void)xt_udp_refusing(&address);
	XT_EQ(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	XT_CHECK(xt_refused(fd));
	XT_CALL(expect_both_modes(fd, 0, 0));
	XT_EQ(so_error(fd), ECONNREFUSED);
	XT_CALL(expect_both_modes(fd, QUIET, 0));
}

XT_TEST(pty_master_closed_read_is_eof)
{
	struct xt_pair pty = xt_pty();

	xt_close(pty.w);
	XT_CALL(expect_both_modes(pty.r, 1, ANY));
}

XT_TEST(fifo_hangup_and_new_writer_is_not_eof_any_more)
{
	char path[] = "/tmp/xt-fifo-0000000000";
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	(void)snprintf(path, sizeof path, "/tmp/xt-fifo-%d",
	               (int)getpid() % 1000000);
	XT_EQ(mkfifo(path, 0600), 0);
	int reader = xt_open_path(path, O_RDONLY | O_NONBLOCK);
	int writer = xt_open_path(path, O_WRONLY | O_NONBLOCK);
	XT_EQ(unlink(path), 0);
	XT_OK(xt_add(queue, reader, READ, 0));
	XT_NONE(queue);
	int again = xt_dup(writer);
	xt_put(writer);
	XT_GETS(queue, &event, reader, READ);
	XT_EXPECT_EQ(event.flags & XPOLL_EOF, 0);
	xt_close(writer);
	XT_GETS(queue, &event, reader, READ);
	XT_EXPECT_EQ(event.flags & XPOLL_EOF, 0);
	xt_close(again);
	XT_GETS(queue, &event, reader, READ);
	XT_EXPECT(event.flags & XPOLL_EOF);
}

/*
 * Each half of a connection is closed in turn, while both directions are registered.
 * Complaint: Half-close, end of file and reset are mixed up.
 */
XT_TEST(half_close_step_by_step_is_told_in_order)
{
	if (xt_is("afd"))
		XT_SKIP(XT_NO_UNIX);
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xpoll_event events[4];

	XT_OK(xt_add(queue, pair.r, READ, 0));
	XT_NONE(queue);
	XT_EQ(shutdown(pair.w, SHUT_WR), 0);
	XT_GETS(queue, &events[0], pair.r, READ);
	XT_EXPECT(events[0].flags & XPOLL_EOF);
	XT_OK(xt_add(queue, pair.r, WRITE, 0));
	XT_EQ(xt_take(queue, events, 4, XT_SOON), 2);
	int at = xt_find(events, 2, (uint64_t)pair.r, WRITE);
	XT_CHECK(at >= 0);
	XT_EXPECT_EQ(events[at].flags & XPOLL_EOF, 0);
	xt_close(pair.w);
	XT_EQ(xt_take(queue, events, 4, XT_SOON), 2);
	at = xt_find(events, 2, (uint64_t)pair.r, WRITE);
	XT_CHECK(at >= 0);
	XT_EXPECT(events[at].flags & XPOLL_EOF);
}
