/*
 * Goal: at the poll-like level a request of no bits reports errors and hang-ups only; it replaces a
 * request of POLLIN or POLLRDHUP, and is replaced by one.
 * Method: socket pairs with and without data, whose peers close; poll(2) is the oracle.
 */
#include "xt.h"

static int add(struct xpoll *queue, int op, int events, int fd, void *data)
{
	return xpoll_ctl(queue, XPOLL_ADD | op, events, fd, data);
}

/* Returns true if one record is ready, with these bits; no bits: no record is ready. */
static bool came(struct xpoll *queue, int fd, int bits)
{
	struct xpoll_ready ready[4];
	int count = xpoll_pwait(queue, ready, 4, 0, NULL);

	if (!XT_EXPECT_EQ(count, bits ? 1 : 0) || !bits)
		return count == 0;
	return XT_EXPECT((int)ready[0].fd == fd) && XT_EXPECT_EQ(ready[0].events, bits);
}

/* A registration that requests no bits reports the peer's end, but not data. */
XT_TEST(no_bits_report_hang_ups_only)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_DISPATCH};

	if (xt_is("afd"))
		XT_SKIP(XT_NO_UNIX);
	for (int i = 0; i < 3; i++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair pair = xt_socketpair(SOCK_STREAM);
		struct xpoll_ready ready;

		XT_EQ(add(queue, modes[i], 0, pair.r, &pair), 0);
		xt_put(pair.w);
		XT_CHECK(came(queue, pair.r, 0));
		xt_put(pair.w);
		XT_CHECK(came(queue, pair.r, 0));
		xt_close(pair.w);
		XT_EQ(xpoll_pwait(queue, &ready, 1, XT_SOON, NULL), 1);
		XT_EXPECT(ready.data == &pair && (int)ready.fd == pair.r);
		XT_EXPECT_EQ(ready.events, xt_poll(pair.r, 0));
		XT_CHECK(came(queue, pair.r, i ? 0 : xt_poll(pair.r, 0)));
		xt_destroy(queue);
	}
}

XT_TEST(no_bits_are_named_by_no_bits)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_ready_pair();

	XT_FAILS(xpoll_ctl(queue, XPOLL_DELETE, 0, pair.r, NULL), ENOENT);
	XT_EQ(add(queue, XPOLL_DISABLE, 0, pair.r, NULL), 0);
	XT_EQ(xpoll_ctl(queue, XPOLL_ENABLE, 0, pair.r, NULL), 0);
	XT_EQ(xpoll_ctl(queue, XPOLL_DELETE, 0, pair.r, NULL), 0);
	XT_FAILS(xpoll_ctl(queue, XPOLL_DISABLE, 0, pair.r, NULL), ENOENT);
	/* A later request of bits replaces the empty one. */
	XT_EQ(add(queue, 0, 0, pair.r, NULL), 0);
	XT_CHECK(came(queue, pair.r, 0));
	XT_EQ(add(queue, 0, POLLIN, pair.r, NULL), 0);
	XT_CHECK(came(queue, pair.r, POLLIN));
	XT_FAILS(xpoll_ctl(queue, XPOLL_DELETE, 0, pair.r, NULL), ENOENT);
	/* The empty request replaces those of bits, and only those of READ. */
	XT_EQ(add(queue, 0, POLLRDHUP | POLLOUT, pair.r, NULL), 0);
	XT_EQ(add(queue, 0, 0, pair.r, NULL), 0);
	XT_CHECK(came(queue, pair.r, POLLOUT));
	XT_EQ(xpoll_ctl(queue, XPOLL_DELETE, 0, pair.r, NULL), 0);
	XT_EQ(xpoll_ctl(queue, XPOLL_DELETE, POLLOUT, pair.r, NULL), 0);
	XT_CHECK(came(queue, pair.r, 0));
}

/*
 * Pausing a reader and resuming it costs one system call each on epoll, and a hang-up is reported.
 */
XT_TEST(no_bits_pause_a_reader)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_ready_pair();
	uint64_t before = xt_stats(queue).syscalls_change;

	XT_EQ(add(queue, 0, POLLIN, pair.r, NULL), 0);
	for (int i = 0; i < 10; i++) {
		XT_CHECK(came(queue, pair.r, POLLIN));
		XT_EQ(add(queue, 0, 0, pair.r, NULL), 0);
		XT_CHECK(came(queue, pair.r, 0));
		XT_EQ(add(queue, 0, POLLIN, pair.r, NULL), 0);
	}
	if (xt_is("epoll"))
		XT_EQ(xt_stats(queue).syscalls_change - before, 21);
	if (xt_is("afd"))
		return;
	XT_EQ(add(queue, 0, 0, pair.r, NULL), 0);
	xt_close(pair.w);
	XT_CHECK(came(queue, pair.r, xt_poll(pair.r, 0)));
}
