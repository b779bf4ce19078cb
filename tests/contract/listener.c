/*
 * Goal: the shutdown of a listener is delivered as READ with EOF, so that a
 * program which stops its accept loop in this way does not wait for ever (S8,
 * S9, S12).
 * Method: listeners of every kind, in every mode, are shut down before the
 * first wait, between two waits, and while a thread sleeps.  The kernel treats
 * a TCP listener after its shutdown like an unconnected socket; sockets that
 * never listened must deliver nothing.
 */
#include "xt.h"

#include <sys/un.h>
#ifdef __linux__
#include <netinet/in.h>
#include <netinet/tcp.h>
#endif

enum { KINDS = 4, BEFORE = 0, BETWEEN, BENEATH, MOMENTS };

static const int modes[] = {0, XPOLL_CLEAR, XPOLL_ONESHOT, XPOLL_DISPATCH};

/*
 * Returns true if TCP_INFO shows whether the socket was a listener; qemu's user emulation passes on
 * only the first four bytes.
 */
static bool tcp_info_is_whole(int fd)
{
#ifdef __linux__
	char info[148];
	socklen_t len = sizeof info;

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len) == 0 &&
		len == sizeof info;
#else
	(void)fd;
	return true;
#endif
}

/* Returns a socket of this kind; -1: the system has none. */
static int socket_of(int kind)
{
	static const int domains[KINDS] = {AF_INET, AF_INET6, AF_UNIX, AF_UNIX};
	int type = kind == 3 ? SOCK_SEQPACKET : SOCK_STREAM;
	int fd = socket(domains[kind], type, 0);

	if (fd < 0)
		return -1;
	if (kind < 2 && !tcp_info_is_whole(fd)) {
		(void)close(fd);
		return -1;
	}
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	return xt_keep(fd);
}

static int bound(int kind)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
	                           .sin6_addr = in6addr_loopback};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	static int serial;
	int fd = socket_of(kind);
	int rc;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)snprintf(un.sun_path, sizeof un.sun_path, "/tmp/xt-listener-%d-%d",
	               (int)getpid(), serial++);
	if (kind == 0)
		rc = bind(fd, (struct sockaddr *)&in, sizeof in);
	else if (kind == 1)
		rc = bind(fd, (struct sockaddr *)&in6, sizeof in6);
	else
		rc = bind(fd, (struct sockaddr *)&un, sizeof un);
	if (kind >= 2)
		(void)unlink(un.sun_path);
	return fd < 0 || rc < 0 ? -1 : fd;
}

static int listener(int kind)
{
	int fd = bound(kind);

	return fd >= 0 && listen(fd, 5) == 0 ? fd : -1;
}

static void shut(void *argument)
{
	/* FreeBSD returns ENOTCONN because there is no peer, but shuts the listener down. */
	if (shutdown(*(int *)argument, SHUT_RDWR) < 0 && errno != ENOTCONN)
		xt_fail(__FILE__, __LINE__, "shutdown: %s",
		        xt_error_name(errno));
}

static void expect_end(struct xpoll *queue, int fd, int mode, int moment)
{
	struct xt_thread *thread = NULL;
	struct xpoll_event event;

	if (moment != BEFORE)
		XT_NONE(queue);
	if (moment == BENEATH)
		thread = xt_start(shut, &fd);
	else
		XT_CALL(shut(&fd));
	XT_GETS(queue, &event, fd, READ);
	XT_EXPECT_EQ(event.flags, XPOLL_EOF);
	XT_EXPECT_EQ(event.fflags, 0);
	if (thread)
		xt_join(thread);
	if (mode == 0)
		XT_GETS(queue, &event, fd, READ);
	else if (mode != XPOLL_CLEAR || moment != BENEATH)
		XT_NONE(queue);
	/*
	 * For the other modes no second event is checked: the kernel may wake twice for one
	 * shutdown, and the wait came in between.
	 */
	if (mode == 0 || mode == XPOLL_DISPATCH) {
		XT_OK(xt_flag(queue, (uint64_t)fd, READ, XPOLL_DISABLE));
		XT_NONE(queue);
		XT_OK(xt_flag(queue, (uint64_t)fd, READ, XPOLL_ENABLE));
		XT_GETS(queue, &event, fd, READ);
		XT_EXPECT_EQ(event.flags, XPOLL_EOF);
	}
}

XT_TEST(listener_that_is_shut_down_is_read_with_eof)
{
	XT_NEEDS_LISTENERS_END();
	for (int i = 0; i < KINDS * 4 * MOMENTS; i++) {
		int mode = modes[i / KINDS % 4];
		struct xpoll *queue = xt_open();
		int fd = listener(i % KINDS);

		if (fd < 0)
			continue; /* no IPv6, or no SOCK_SEQPACKET */
		XT_OK(xt_add(queue, fd, READ, mode));
		XT_CALL(expect_end(queue, fd, mode, i / KINDS / 4));
		xt_destroy(queue);
		xt_close(fd);
	}
}

/* With NOTE_EXCLUSIVE the kernel has another kind of entry. */
XT_TEST(listener_with_exclusive_that_is_shut_down_is_read_with_eof)
{
	XT_NEEDS_LISTENERS_END();
	for (int i = 0; i < KINDS * MOMENTS; i++) {
		struct xpoll *queue = xt_open();
		int fd = listener(i % KINDS);

		if (fd < 0)
			continue;
		XT_OK(xt_change(queue, (uint64_t)fd, READ, XPOLL_ADD,
		                XPOLL_NOTE_EXCLUSIVE, 0, NULL));
		XT_CALL(expect_end(queue, fd, 0, i / KINDS));
		xt_destroy(queue);
		xt_close(fd);
	}
}

/* The listener was registered before listen(2), with WRITE, which must not be delivered. */
XT_TEST(listener_registered_before_it_listens_and_shut_down_is_read_alone)
{
	XT_NEEDS_LISTENERS_END();
	for (int i = 0; i < 2; i++) {
		struct xpoll *queue = xt_open();
		struct xpoll_event events[4];
		int fd = bound(i);

		if (fd < 0)
			continue;
		XT_OK(xt_add(queue, fd, READ, 0));
		XT_OK(xt_add(queue, fd, WRITE, 0));
		XT_NONE(queue);
		XT_OK(listen(fd, 5));
		XT_NONE(queue);
		XT_CALL(shut(&fd));
		/*
		 * Where poll(2) returns POLLIN and POLLHUP, as on FreeBSD, WRITE is delivered, too.
		 */
		XT_EQ(xt_take(queue, events, 4, XT_SOON),
		      xt_poll(fd, POLLIN) & POLLIN ? 2 : 1);
		int place = xt_find(events, 2, (uint64_t)fd, READ);
		XT_CHECK(place >= 0);
		XT_EXPECT_EQ(events[place].flags, XPOLL_EOF);
	}
}

/*
 * The event has the number of waiting connections, 0, and the error that accept(2) returns then, as
 * in FreeBSD.
 */
XT_TEST(listener_that_is_shut_down_has_econnaborted)
{
	if (xt_lacks_acceptconn())
		XT_SKIP("no SO_ACCEPTCONN here");
	for (int i = 0; i < KINDS * 2; i++) {
		uint32_t notes = XPOLL_NOTE_SOERR |
			(i < KINDS ? XPOLL_NOTE_COUNT : 0);
		struct xpoll *queue = xt_open();
		struct xpoll_event event;
		int fd = listener(i % KINDS);

		if (fd < 0)
			continue;
		XT_OK(xt_change(queue, (uint64_t)fd, READ, XPOLL_ADD, notes, 0,
		                NULL));
		XT_CALL(shut(&fd));
		XT_GETS(queue, &event, fd, READ);
		XT_EXPECT_EQ(event.flags, XPOLL_EOF);
		XT_EXPECT_EQ(event.fflags, ECONNABORTED);
		XT_EXPECT_EQ(event.data, i < KINDS ? 0 : 1);
		/* Level-triggered: after the first event the kernel still reports the shutdown. */
		XT_GETS(queue, &event, fd, READ);
		XT_EXPECT_EQ(event.fflags, ECONNABORTED);
		xt_destroy(queue);
	}
}

/* FreeBSD also reports WRITE if it was registered before the socket listened. */
XT_TEST(listener_whose_write_asks_for_the_error_is_read_with_eof_again)
{
	XT_NEEDS_LISTENERS_END();
	for (int i = 0; i < KINDS; i++) {
		struct xpoll *queue = xt_open();
		struct xpoll_event events[4];
		int fd = bound(i);

		if (fd < 0)
			continue;
		XT_OK(xt_change(queue, (uint64_t)fd, WRITE, XPOLL_ADD, XPOLL_NOTE_SOERR,
		                0, NULL));
		XT_OK(xt_add(queue, fd, READ, 0));
		XT_OK(listen(fd, 5));
		XT_CALL(shut(&fd));
		for (int round = 0; round < 3; round++) {
			int count = xt_take(queue, events, 4, XT_SOON);
			int place = xt_find(events, count, (uint64_t)fd, READ);

			XT_CHECK(place >= 0);
			XT_EXPECT_EQ(events[place].flags, XPOLL_EOF);
		}
		xt_destroy(queue);
		xt_close(fd);
	}
}

/* The end of file of a connection does not carry ECONNABORTED. */
XT_TEST(end_of_a_connection_is_not_econnaborted)
{
	for (int i = 0; i < 4; i++) {
		uint32_t notes = XPOLL_NOTE_SOERR | (i & 1 ? XPOLL_NOTE_COUNT : 0);
		struct xpoll *queue = xt_open();
		struct xt_pair pair = xt_socketpair(SOCK_STREAM);
		struct xpoll_event event;

		if (i & 2)
			xt_put(pair.w); /* one byte, the value of an unknown count */
		XT_EQ(shutdown(pair.w, SHUT_WR), 0);
		XT_OK(xt_change(queue, (uint64_t)pair.r, READ, XPOLL_ADD, notes,
		                0, NULL));
		XT_GETS(queue, &event, pair.r, READ);
		XT_EXPECT(event.flags & XPOLL_EOF);
		XT_EXPECT_EQ(event.fflags, 0);
		XT_EXPECT_EQ(event.data, i == 1 ? 0 : 1);
		xt_destroy(queue);
	}
}

/* The poll-like level reports what poll(2) does. */
XT_TEST(listener_that_is_shut_down_has_the_bits_of_poll)
{
	XT_NEEDS_LISTENERS_END();
	for (int i = 0; i < KINDS; i++) {
		struct xpoll *queue = xt_open();
		int fd = listener(i);

		if (fd < 0)
			continue;
		XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, fd, NULL), 0);
		XT_EQ(xpoll_wait(queue, 0), 0);
		XT_CALL(shut(&fd));
		XT_EQ(xpoll_wait(queue, -1), 1);
		XT_EXPECT_EQ(xpoll_revents(queue, NULL), xt_poll(fd, POLLIN));
		xt_destroy(queue);
	}
}

/* SHUT_WR has no effect on a listener: clients can still connect. */
XT_TEST(listener_shut_for_writing_is_silent)
{
	if (!xt_listeners_end())
		XT_SKIP("such a listener is at its end here");
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct sockaddr_in address;
	int fd = xt_listener(&address);
	int client = xt_socket(AF_INET, SOCK_STREAM);

	XT_OK(xt_add(queue, fd, READ, 0));
	if (shutdown(fd, SHUT_WR) < 0)
		XT_SKIP("no shutdown(2) of a listener here");
	XT_NONE(queue);
	XT_CHECK(connect(client, (struct sockaddr *)&address, sizeof address) == 0 ||
	         errno == EINPROGRESS);
	XT_GETS(queue, &event, fd, READ);
	XT_EXPECT_EQ(event.flags, 0);
}

/* Unconnected sockets that never listened, for which poll(2) returns the same. */
XT_TEST(sockets_that_never_listened_are_silent)
{
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 2; i++) {
		int fresh = socket_of(i);
		int named = bound(i);

		if (fresh < 0 || named < 0)
			continue;
		XT_OK(xt_add(queue, fresh, READ, 0));
		XT_OK(xt_add(queue, named, READ, XPOLL_CLEAR));
		XT_NONE(queue);
		XT_NONE(queue);
	}
}
