/*
 * Goal: NOTE_COUNT and NOTE_SOERR of sockets on Windows (S12): the number of
 * bytes, the size of the send buffer, 1 for a listener; and the error of
 * Windows, only for programs that request it.  xpoll_fd is refused.
 * Method: the test calls FIONREAD and SO_SNDBUF.
 */
#include "xt.h"

static int add(struct xpoll *queue, int fd, int filter, uint32_t notes)
{
	return xt_change(queue, (uint64_t)fd, filter, XPOLL_ADD, notes, 0, NULL);
}

XT_TEST(count_of_a_connection_is_its_bytes)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_tcp();
	struct xpoll_event event;

	XT_OK(add(queue, pair.r, READ, XPOLL_NOTE_COUNT));
	XT_NONE(queue);
	for (int bytes = 1; bytes <= 64; bytes *= 4) {
		u_long unread = 0;

		for (int i = 0; i < bytes; i++)
			xt_put(pair.w);
		while (unread < (u_long)bytes)
			XT_EQ(ioctlsocket((SOCKET)pair.r, (long)FIONREAD, &unread), 0);
		XT_GETS(queue, &event, pair.r, READ);
		XT_EXPECT_EQ(event.data, bytes);
		XT_EXPECT_EQ(event.fflags, 0);
		XT_EQ(xt_drain(pair.r), bytes);
	}
	xt_close(pair.w);
	XT_GETS(queue, &event, pair.r, READ);
	XT_EXPECT(event.flags & XPOLL_EOF);
	XT_EXPECT_EQ(event.data, 0);
}

XT_TEST(count_for_writing_is_the_send_buffer)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_tcp();
	struct xpoll_event event;
	int size = 0;
	socklen_t length = sizeof size;

	XT_EQ(getsockopt(pair.w, SOL_SOCKET, SO_SNDBUF, &size, &length), 0);
	XT_OK(add(queue, pair.w, WRITE, XPOLL_NOTE_COUNT));
	XT_GETS(queue, &event, pair.w, WRITE);
	XT_EXPECT_EQ(event.data, size);
}

XT_TEST(count_of_a_listener_is_1)
{
	struct xpoll *queue = xt_open();
	struct sockaddr_in address;
	struct xpoll_event event;
	int listener = xt_listener(&address);

	XT_OK(add(queue, listener, READ, XPOLL_NOTE_COUNT));
	XT_NONE(queue);
	for (int i = 0; i < 3; i++) {
		(void)connect(xt_socket(AF_INET, SOCK_STREAM),
		              (struct sockaddr *)&address, sizeof address);
		XT_GETS(queue, &event, listener, READ);
		XT_EXPECT_EQ(event.data, 1);
	}
}

/* Windows retries for seconds before a connection to a port without a listener fails. */
static int refused(void)
{
	struct sockaddr_in address;
	int listener = xt_listener(&address);
	int fd = xt_socket(AF_INET, SOCK_STREAM);

	xt_close(listener);
	(void)connect(fd, (struct sockaddr *)&address, sizeof address);
	return fd;
}

XT_TEST(error_of_a_socket_is_told_to_who_asks)
{
	static const uint32_t notes[] = {0, XPOLL_NOTE_SOERR};

	for (int i = 0; i < 2; i++) {
		struct xpoll *queue = xt_open();
		struct xpoll_event event;
		int fd = refused();

		XT_OK(add(queue, fd, WRITE, notes[i]));
		XT_GETS(queue, &event, fd, WRITE);
		XT_EXPECT(event.flags & XPOLL_EOF);
		XT_EXPECT_EQ(event.fflags, i ? WSAECONNREFUSED : 0);
		xt_destroy(queue);
	}
}

XT_TEST(queue_fd_is_enotsup)
{
	struct xpoll *queue = xt_open();

	XT_FAILS(xpoll_fd(queue), ENOTSUP);
	XT_EXPECT_EQ(xpoll_supports(queue, READ, XPOLL_NOTE_COUNT | XPOLL_NOTE_SOERR), 1);
	XT_EXPECT_EQ(xpoll_supports(queue, XPOLL_FILT_EMPTY, 0), 0);
}
