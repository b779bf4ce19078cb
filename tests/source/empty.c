/*
 * Goal: EMPTY is delivered when all written bytes have left the send buffer, in
 * each mode, and only for the file that was registered (S3, S4, S7, S8, S10).
 * Method: buffers are filled, and read by the other end; ioctl(2) returns what
 * is left.
 */
#include <sys/ioctl.h>

#include "xt.h"

#define EMPTY XPOLL_FILT_EMPTY

/*
 * The kinds of files that have a send buffer.  On other systems than Linux data written to a
 * UNIX-domain socket is in the other end's buffer at once, and pipes do not report it.
 */
#ifdef __linux__
enum { KINDS = 3 };

static struct xt_pair kind_made(int kind)
{
	return kind == 0 ? xt_socketpair(SOCK_STREAM)
		: kind == 1 ? xt_tcp_bounded() : xt_pipe();
}
#else
enum { KINDS = 1 };

static struct xt_pair kind_made(int kind)
{
	(void)kind;
	return xt_tcp_bounded();
}
#endif

#define EMPTY_NEEDED()                                                  \
	do {                                                            \
		if (xpoll_supports(NULL, EMPTY, 0) != 1)                \
			XT_SKIP("no call tells what was not sent here"); \
	} while (0)

/*
 * Returns the number of bytes that are not sent yet, or not read yet; for a pipe Linux has one
 * number for both.
 */
static int left(int fd)
{
	int count = 0;

#ifdef FIONWRITE
	(void)ioctl(fd, FIONWRITE, &count);
#elif defined(SO_NWRITE)
	socklen_t size = sizeof count;

	(void)getsockopt(fd, SOL_SOCKET, SO_NWRITE, &count, &size);
#else
	if (ioctl(fd, TIOCOUTQ, &count) < 0)
		(void)ioctl(fd, FIONREAD, &count);
#endif
	return count;
}

/*
 * Fill both buffers: TCP passes on as many bytes as the other end has room for, perhaps with a
 * delay.
 */
static void fill(struct xt_pair pair)
{
	/* Without a call that returns the number of unsent bytes the test is skipped. */
	if (xpoll_supports(NULL, EMPTY, 0) != 1)
		return;
	do
		xt_fill(pair.w);
	while (xt_poll(pair.w, POLLOUT) || left(pair.w) == 0);
	XT_CHECK(xt_poll_until(pair.r, POLLIN, POLLIN));
}

static struct xt_pair filled(int kind)
{
	struct xt_pair pair = kind_made(kind);

	fill(pair);
	return pair;
}

static void emptied(struct xt_pair pair)
{
	while (left(pair.w) > 0)
		(void)xt_drain(pair.r);
	(void)xt_drain(pair.r);
}

static bool registered(struct xpoll *queue, int fd)
{
	struct xpoll_event now;

	return xpoll_lookup(queue, (uint64_t)fd, EMPTY, &now) == 0;
}

/* S4, S8: a buffer that is empty already is reported by each wait. */
XT_TEST(empty_from_the_beginning_is_reported_by_each_wait)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	EMPTY_NEEDED();
	for (int kind = 0; kind < KINDS; kind++) {
		struct xt_pair pair = kind_made(kind);

		XT_OK(xt_add(queue, pair.w, EMPTY, 0));
		for (int i = 0; i < 3; i++) {
			XT_GETS(queue, &event, pair.w, EMPTY);
			XT_EXPECT_EQ(event.data, 0);
			XT_EXPECT_EQ(event.fflags, 0);
		}
		XT_OK(xt_flag(queue, (uint64_t)pair.w, EMPTY, XPOLL_DELETE));
		XT_NONE(queue);
	}
}

/* S8: nothing while bytes are left, an event when none is left, and nothing again after that */
XT_TEST(filled_is_silent_until_the_other_end_has_it_all)
{
	struct xpoll *queue = xt_open();

	EMPTY_NEEDED();
	for (int kind = 0; kind < KINDS; kind++) {
		struct xt_pair pair = filled(kind);

		XT_OK(xt_add(queue, pair.w, EMPTY, 0));
		for (int i = 0; i < 3; i++) {
			XT_NONE(queue);
			XT_EXPECT(xt_get(pair.r) >= 0);
			XT_CHECK(left(pair.w) > 0);
			XT_NONE(queue);
			emptied(pair);
			XT_GETS(queue, NULL, pair.w, EMPTY);
			XT_EXPECT_EQ(left(pair.w), 0);
			fill(pair);
		}
		XT_NONE(queue);
		XT_OK(xt_flag(queue, (uint64_t)pair.w, EMPTY, XPOLL_DELETE));
		emptied(pair);
		XT_NONE(queue);
	}
}

/* The buffer is filled after it was found empty and before the event is delivered. */
XT_TEST(empty_that_is_over_is_not_reported)
{
	struct xpoll *queue = xt_open();

	EMPTY_NEEDED();
	for (int kind = 0; kind < KINDS; kind++) {
		struct xt_pair pair = kind_made(kind);

		XT_OK(xt_add(queue, pair.w, EMPTY, 0));
		fill(pair);
		XT_NONE(queue);
		emptied(pair);
		XT_GETS(queue, NULL, pair.w, EMPTY);
		XT_OK(xt_flag(queue, (uint64_t)pair.w, EMPTY, XPOLL_DELETE));
	}
}

/* S10: ONESHOT and DISPATCH are delivered once. */
XT_TEST(oneshot_and_dispatch_are_told_once)
{
	struct xpoll *queue = xt_open();
	struct xt_pair one = filled(0), other = filled(0);

	EMPTY_NEEDED();
	XT_OK(xt_add(queue, one.w, EMPTY, XPOLL_ONESHOT));
	XT_OK(xt_add(queue, other.w, EMPTY, XPOLL_DISPATCH));
	XT_NONE(queue);
	emptied(one);
	XT_GETS(queue, NULL, one.w, EMPTY);
	XT_NONE(queue);
	XT_CHECK(!registered(queue, one.w));
	for (int i = 0; i < 3; i++) {
		emptied(other);
		XT_GETS(queue, NULL, other.w, EMPTY);
		XT_NONE(queue);
		fill(other);
		XT_OK(xt_flag(queue, (uint64_t)other.w, EMPTY, XPOLL_ENABLE));
		XT_NONE(queue);
	}
}

/* S3: a disabled EMPTY is not delivered, and ENABLE checks the buffer again. */
XT_TEST(disabled_is_silent_and_enabling_looks_anew)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = kind_made(0);
	uint64_t ident = (uint64_t)pair.w;

	EMPTY_NEEDED();
	XT_OK(xt_add(queue, pair.w, EMPTY, XPOLL_DISABLE));
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, EMPTY, XPOLL_ENABLE));
	XT_GETS(queue, NULL, ident, EMPTY);
	XT_OK(xt_flag(queue, ident, EMPTY, XPOLL_DISABLE));
	XT_NONE(queue);
	fill(pair);
	XT_OK(xt_flag(queue, ident, EMPTY, XPOLL_ENABLE));
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, EMPTY, XPOLL_DISABLE));
	emptied(pair);
	XT_NONE(queue);
	/* Another ADD leaves it disabled; ADD with ENABLE enables it. */
	XT_OK(xt_add(queue, pair.w, EMPTY, 0));
	XT_NONE(queue);
	XT_OK(xt_add(queue, pair.w, EMPTY, XPOLL_ENABLE));
	XT_GETS(queue, NULL, ident, EMPTY);
}

/* The library continues to check the buffer, however long that takes. */
XT_TEST(long_filled_and_first_disabled_is_reported)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	EMPTY_NEEDED();
	for (int kind = 0; kind < KINDS; kind++) {
		struct xt_pair pair = filled(kind);

		XT_OK(xt_add(queue, pair.w, EMPTY, XPOLL_DISABLE));
		XT_NONE(queue);
		XT_OK(xt_flag(queue, (uint64_t)pair.w, EMPTY, XPOLL_ENABLE));
		XT_EQ(xt_take(queue, &event, 1, INT64_C(200) * 1000000), 0);
		emptied(pair);
		XT_GETS(queue, NULL, pair.w, EMPTY);
		XT_OK(xt_flag(queue, (uint64_t)pair.w, EMPTY, XPOLL_DELETE));
	}
}

XT_TEST(what_has_no_such_buffer_is_refused)
{
	struct xpoll *queue = xt_open();
	struct sockaddr_in address;
	struct xt_pair pair = kind_made(0);
	int file = xt_file("text"), listener = xt_listener(&address);
	int closed = xt_dup(pair.r);

	EMPTY_NEEDED();
	/*
	 * Let the library open its own descriptors first, so that none of them gets the tested
	 * number.
	 */
	XT_OK(xt_add(queue, pair.w, EMPTY, XPOLL_DISABLE));
	XT_OK(xt_flag(queue, (uint64_t)pair.w, EMPTY, XPOLL_DELETE));
	XT_STATUS(xt_add(queue, file, EMPTY, 0), ENOTSUP);
	XT_STATUS(xt_add(queue, listener, EMPTY, 0), ENOTSUP);
	xt_close(closed);
	XT_STATUS(xt_add(queue, closed, EMPTY, 0), EBADF);
	XT_STATUS(xt_add(queue, -1, EMPTY, 0), EBADF);
	/*
	 * CLEAR is refused, because the library checks the buffer at intervals and may miss
	 * activity between two checks.
	 */
	XT_STATUS(xt_add(queue, pair.w, EMPTY, XPOLL_CLEAR), ENOTSUP);
	XT_CHECK(!registered(queue, pair.w));
	XT_OK(xt_add(queue, pair.w, EMPTY, XPOLL_DISABLE));
	XT_STATUS(xt_add(queue, pair.w, EMPTY, XPOLL_CLEAR), ENOTSUP);
	/* Without ADD a mode is ignored. */
	XT_OK(xt_flag(queue, (uint64_t)pair.w, EMPTY, XPOLL_ENABLE | XPOLL_CLEAR));
	XT_OK(xt_flag(queue, (uint64_t)pair.w, EMPTY, XPOLL_DISABLE | XPOLL_CLEAR));
	XT_STATUS(xt_change(queue, (uint64_t)pair.w, EMPTY, XPOLL_ADD, 1, 0,
	                    NULL), EINVAL);
	XT_OK(xt_flag(queue, (uint64_t)pair.w, EMPTY, XPOLL_DELETE));
	XT_STATUS(xt_flag(queue, (uint64_t)pair.w, EMPTY, XPOLL_DELETE), ENOENT);
	XT_STATUS(xt_flag(queue, (uint64_t)closed, EMPTY, XPOLL_DELETE), EBADF);
}

/* S16: a sleeping thread checks the buffer from time to time. */
XT_TEST(sleeping_thread_is_told)
{
	struct xt_sleeper sleeper = {.queue = xt_open_quiet(), .timeout_ns = -1};

	EMPTY_NEEDED();
	for (int kind = 0; kind < KINDS; kind++) {
		struct xt_pair pair = filled(kind);
		struct xt_thread *thread = xt_start(xt_sleep, &sleeper);

		xt_asleep(thread);
		XT_OK(xt_add(sleeper.queue, pair.w, EMPTY, XPOLL_ONESHOT));
		emptied(pair);
		xt_join(thread);
		XT_EQ(sleeper.rc, 1);
		XT_EQ(sleeper.event.ident, pair.w);
		XT_EQ(sleeper.event.filter, EMPTY);
	}
}

/* S7: the descriptor is reused, and the new file's buffer is not registered. */
XT_TEST(number_used_again_is_not_reported_for_the_old_file)
{
	struct xpoll *queue = xt_open();
	struct xt_pair old = filled(0), fresh = kind_made(0), third = kind_made(0);
	int number = old.w;

	EMPTY_NEEDED();
	XT_OK(xt_add(queue, number, EMPTY, 0));
	XT_NONE(queue);
	xt_number(fresh.w, number);
	XT_NONE(queue);
	XT_STATUS(xt_flag(queue, (uint64_t)number, EMPTY, XPOLL_DELETE), ENOENT);
	/* EMPTY is ready when the descriptor is reused. */
	XT_OK(xt_add(queue, number, EMPTY, 0));
	XT_GETS(queue, NULL, number, EMPTY);
	xt_number(third.w, number);
	XT_NONE(queue);
	XT_CHECK(!registered(queue, number));
	/* S1: ADD of the reused descriptor makes a registration without the old state. */
	XT_OK(xt_add(queue, number, EMPTY, XPOLL_DISPATCH | XPOLL_DISABLE));
	xt_number(kind_made(0).w, number);
	XT_OK(xt_add(queue, number, EMPTY, 0));
	XT_GETS(queue, NULL, number, EMPTY);
	XT_GETS(queue, NULL, number, EMPTY);
}

/* S6, S7: no event after the descriptor was closed */
XT_TEST(closed_is_not_reported)
{
	struct xpoll *queue = xt_open();
	struct xt_pair one = kind_made(0), other = filled(0), third = filled(0);

	EMPTY_NEEDED();
	XT_OK(xt_add(queue, one.w, EMPTY, 0));
	xt_close(one.w);
	XT_NONE(queue);
	XT_CHECK(!registered(queue, one.w));
	XT_OK(xt_add(queue, other.w, EMPTY, 0));
	XT_EQ(xpoll_forget_fd(other.w), 0);
	emptied(other);
	XT_NONE(queue);
	XT_CHECK(!registered(queue, other.w));
	XT_OK(xt_add(queue, third.w, EMPTY, 0));
	xt_close(third.w);
	XT_NONE(queue);
	XT_STATUS(xt_flag(queue, (uint64_t)third.w, EMPTY, XPOLL_DELETE), EBADF);
}

/* S14: xpoll_fd becomes readable. */
XT_TEST(queue_is_readable_when_it_is_empty)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = filled(1);
	int watched = xpoll_fd(queue);

	EMPTY_NEEDED();
	if (watched < 0)
		XT_SKIP("no kernel queue in this back end");
	XT_OK(xt_add(queue, pair.w, EMPTY, 0));
	/* Until the next wait the descriptor is readable, too, if the library has to look again. */
	for (int i = 0; i < 1000 && (i == 0 || xt_poll(watched, POLLIN) != 0); i++)
		XT_NONE(queue);
	emptied(pair);
	/* The queue's descriptor becomes readable without a wait on the queue. */
	while (!xt_poll_until(watched, POLLIN, POLLIN))
		continue;
	XT_GETS(queue, NULL, pair.w, EMPTY);
}

static void in_the_child(void *opaque)
{
	struct xpoll *queue = opaque;
	struct xpoll_event events[4];

	XT_EQ(xpoll_reinit(queue), 0);
	XT_EQ(xpoll_event(queue, NULL, 0, events, 4, -1), 1);
	XT_EQ(events[0].filter, EMPTY);
}

/* S26: the registration works in a child after xpoll_reinit. */
XT_TEST(reinit_in_a_child_goes_on)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = kind_made(0), full = filled(0);

	EMPTY_NEEDED();
	XT_OK(xt_add(queue, pair.w, EMPTY, 0));
	XT_OK(xt_add(queue, full.w, EMPTY, 0));
	XT_GETS(queue, NULL, pair.w, EMPTY);
	XT_CHECK(xt_child(in_the_child, queue));
	XT_GETS(queue, NULL, pair.w, EMPTY);
}

XT_TEST(supports_tells_of_it)
{
	struct xpoll *queue = xt_open();

	EMPTY_NEEDED();
	XT_EXPECT_EQ(xpoll_supports(queue, EMPTY, 0), 1);
	XT_EXPECT_EQ(xpoll_supports(queue, EMPTY, 1), 0);
}
