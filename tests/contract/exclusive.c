/*
 * Goal: NOTE_EXCLUSIVE is a hint: events are the same with the note and without
 * (S7, S8, S9, S10, S12; DIFFERENCES.md on epoll), although the kernel's
 * exclusive entries report neither half-closes nor urgent data nor a reused
 * descriptor.
 * Method: each situation in one queue with the note and in another without it;
 * on other back ends than epoll the note has no effect.
 */
#include "xt.h"

#define NOTE XPOLL_NOTE_EXCLUSIVE

static int add(struct xpoll *queue, int fd, int filter, int mode)
{
	return xt_change(queue, (uint64_t)fd, filter, XPOLL_ADD | mode, NOTE, 0,
	                 NULL);
}

XT_TEST(exclusive_half_close_is_eof)
{
	for (int kind = 0; kind < 3; kind++) {
		struct xpoll *queue = xt_open();
		struct xt_pair pair = kind == 2 ? xt_tcp()
			: xt_socketpair(kind ? SOCK_SEQPACKET : SOCK_STREAM);
		struct xpoll_event event;

		XT_OK(add(queue, pair.r, READ, 0));
		xt_put(pair.w);
		XT_CHECK(xt_poll_until(pair.r, POLLIN, POLLIN));
		XT_GETS(queue, &event, pair.r, READ);
		XT_EQ(event.flags, 0);
		XT_EQ(shutdown(pair.w, SHUT_WR), 0);
		XT_CHECK(xt_ended(pair.r));
		XT_GETS(queue, &event, pair.r, READ);
		XT_EQ(event.flags, XPOLL_EOF);
	}
}

XT_TEST(exclusive_half_close_has_the_bits_of_poll)
{
	XT_NEEDS_RDHUP();
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_OK(add(queue, pair.r, READ, 0));
	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN | POLLRDHUP, pair.r, NULL), 0);
	XT_OK(add(queue, pair.r, READ, 0));
	XT_EQ(shutdown(pair.w, SHUT_WR), 0);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLIN | POLLRDHUP);
	/* The half-close is also reported if POLLIN was deleted. */
	XT_EQ(xpoll_ctl(queue, XPOLL_DELETE, POLLIN, pair.r, NULL), 0);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLRDHUP);
}

XT_TEST(exclusive_half_close_alone_is_told)
{
	XT_NEEDS_RDHUP();
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLRDHUP, pair.r, NULL), 0);
	XT_OK(add(queue, pair.r, WRITE, XPOLL_DISABLE));
	xt_put(pair.w);
	XT_EQ(xpoll_wait(queue, 0), 0);
	XT_EQ(shutdown(pair.w, SHUT_WR), 0);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLRDHUP);
}

XT_TEST(exclusive_beside_except_urgent_data_comes)
{
	XT_NEEDS_EXCEPT();
	for (int i = 0; i < 2; i++) {
		struct xpoll *queue = xt_open();
		struct xt_pair tcp = xt_tcp();
		int filter = i ? WRITE : READ;

		/* The exclusive filter and EXCEPT are added in both orders. */
		if (i)
			XT_OK(add(queue, tcp.r, filter, XPOLL_DISABLE));
		XT_OK(xt_add(queue, tcp.r, EXCEPT, 0));
		if (!i)
			XT_OK(add(queue, tcp.r, filter, 0));
		XT_NONE(queue);
		XT_EQ(send(tcp.w, "u", 1, MSG_OOB), 1);
		XT_CHECK(xt_poll_until(tcp.r, POLLPRI, POLLPRI));
		XT_GETS(queue, NULL, tcp.r, EXCEPT);
		/* When EXCEPT is deleted, the entry can be exclusive again. */
		XT_OK(xt_flag(queue, (uint64_t)tcp.r, EXCEPT, XPOLL_DELETE));
		XT_NONE(queue);
	}
}

XT_TEST(exclusive_clear_is_reported_once)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();

	XT_OK(add(queue, pipe.r, READ, XPOLL_CLEAR));
	xt_put(pipe.w);
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_NONE(queue);
	xt_put(pipe.w);
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_DISABLE));
	XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_ENABLE));
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_NONE(queue);
}

XT_TEST(exclusive_oneshot_and_dispatch_report_once)
{
	struct xpoll *queue = xt_open();
	struct xt_pair once = xt_pipe();
	struct xt_pair turn = xt_pipe();

	XT_OK(add(queue, once.r, READ, XPOLL_ONESHOT));
	xt_put(once.w);
	XT_GETS(queue, NULL, once.r, READ);
	XT_NONE(queue);
	XT_STATUS(xt_flag(queue, (uint64_t)once.r, READ, XPOLL_ENABLE), ENOENT);
	XT_OK(add(queue, turn.r, READ, XPOLL_DISPATCH));
	xt_put(turn.w);
	XT_GETS(queue, NULL, turn.r, READ);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, (uint64_t)turn.r, READ, XPOLL_ENABLE));
	XT_GETS(queue, NULL, turn.r, READ);
	XT_NONE(queue);
}

XT_TEST(exclusive_add_without_the_note_takes_it_away)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event found;

	XT_OK(add(queue, pipe.r, READ, 0));
	XT_EQ(xpoll_lookup(queue, (uint64_t)pipe.r, READ, &found), 0);
	XT_EQ(found.fflags, NOTE);
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_EQ(xpoll_lookup(queue, (uint64_t)pipe.r, READ, &found), 0);
	XT_EQ(found.fflags, 0);
	xt_put(pipe.w);
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_OK(add(queue, pipe.r, READ, 0));
	XT_GETS(queue, NULL, pipe.r, READ);
}

/*
 * S7: the library detects within some waits that the descriptor of a file with an open duplicate
 * was closed.
 */
XT_TEST(exclusive_closed_with_duplicate_comes_to_rest)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;
	int told = 0;

	(void)xt_dup(pipe.r);
	XT_OK(add(queue, pipe.r, READ, 0));
	xt_put(pipe.w);
	XT_GETS(queue, NULL, pipe.r, READ);
	xt_close(pipe.r);
	while (told <= 1000 && xpoll_event(queue, NULL, 0, &event, 1, 0) == 1)
		told++;
	XT_CHECK(told < 1000);
	XT_NONE(queue);
}

XT_TEST(exclusive_of_another_queue_is_accepted)
{
	struct xpoll *queue = xt_open();
	struct xpoll *inner = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	int fd = xpoll_fd(inner);

	if (fd < 0)
		XT_SKIP("no kernel queue in this back end");
	if (xt_is("kqueue"))
		XT_SKIP("epoll sets cannot be nested as deeply");
	XT_OK(add(queue, fd, READ, 0));
	XT_NONE(queue);
	XT_OK(xt_add(inner, pipe.r, READ, 0));
	xt_put(pipe.w);
	XT_GETS(queue, NULL, fd, READ);
	XT_GETS(inner, NULL, pipe.r, READ);
	XT_OK(xt_flag(queue, (uint64_t)fd, READ, XPOLL_DELETE));
}

/*
 * poll(2) reports POLLHUP for an unconnected socket all the time, but the event level does not
 * deliver that.
 */
XT_TEST(exclusive_of_an_unconnected_socket_lets_a_wait_sleep)
{
	struct xpoll *queue = xt_open_quiet();
	struct sockaddr_in address = {.sin_family = AF_INET};
	int fd = xt_socket(AF_INET, SOCK_STREAM);
	struct xpoll_event event;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	XT_EQ(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	XT_OK(add(queue, fd, READ, 0));
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 1000000), 0);
	XT_CHECK(xt_stats(queue).syscalls_wait < 20);
	/* Turn the socket into a listener. */
	if (xt_chooses_filters_early())
		XT_SKIP("a socket's filter is that of its kind when it is added");
	socklen_t length = sizeof address;
	int client = xt_socket(AF_INET, SOCK_STREAM);

	XT_EQ(listen(fd, 4), 0);
	XT_NONE(queue);
	XT_EQ(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	(void)connect(client, (struct sockaddr *)&address, length);
	XT_GETS(queue, NULL, fd, READ);
}
