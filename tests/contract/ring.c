/*
 * Goal: what is particular to polls in a ring: they hold the file, they belong
 * to the thread that submitted them, and the ring has room for so many reports.
 * Method: close, end the thread, make more ready than fits; poll(2) on the other
 * end tells whether a file is still open.
 */
#include "xt.h"

/* Is the file at the other end gone, soon? */
static bool hangs_up(int fd)
{
	return xt_poll_until(fd, POLLIN, POLLHUP);
}

/* DIFFERENCES.md: the peer is told when the queue notices, not before. */
XT_TEST(close_without_delete_keeps_the_file_until_it_is_noticed)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xt_pair other = xt_socketpair(SOCK_STREAM);

	XT_OK(xt_add(queue, pair.r, READ, 0));
	XT_OK(xt_add(queue, other.r, READ, 0));
	xt_close(pair.r);
	xt_close(other.r);
	XT_EXPECT_EQ(xt_poll(pair.w, POLLIN), 0);
	/* By a change of the number, and by a look at what it reports. */
	XT_STATUS(xt_flag(queue, (uint64_t)pair.r, READ, XPOLL_DELETE), EBADF);
	XT_EXPECT(hangs_up(pair.w));
	xt_put(other.w);
	XT_NONE(queue);
	XT_EXPECT(hangs_up(other.w));
}

XT_TEST(close_fd_and_delete_let_go_of_the_file_at_once)
{
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 2; i++) {
		struct xt_pair pair = xt_socketpair(SOCK_STREAM);

		XT_OK(xt_add(queue, pair.r, READ, i ? XPOLL_CLEAR : 0));
		if (i) {
			XT_EQ(xpoll_close_fd(pair.r), 0);
		} else {
			XT_OK(xt_flag(queue, (uint64_t)pair.r, READ,
			              XPOLL_DELETE));
			xt_close(pair.r);
		}
		XT_EXPECT(hangs_up(pair.w));
	}
}

XT_TEST(destroy_lets_go_of_all_files)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pairs[20];

	for (int i = 0; i < 20; i++) {
		pairs[i] = xt_socketpair(SOCK_STREAM);
		XT_OK(xt_add(queue, pairs[i].r, READ, 0));
		xt_close(pairs[i].r);
	}
	xt_destroy(queue);
	for (int i = 0; i < 20; i++)
		XT_EXPECT(hangs_up(pairs[i].w));
}

/* A number that is used again is registered: the old file is let go. */
XT_TEST(add_on_a_reused_number_lets_go_of_the_old_file)
{
	struct xpoll *queue = xt_open();
	struct xt_pair old = xt_socketpair(SOCK_STREAM);
	struct xt_pair new = xt_socketpair(SOCK_STREAM);

	XT_OK(xt_add(queue, old.r, READ, 0));
	xt_number(new.r, old.r);
	XT_OK(xt_add(queue, old.r, READ, 0));
	XT_EXPECT(hangs_up(old.w));
	xt_put(new.w);
	XT_GETS(queue, NULL, old.r, READ);
}

struct maker {
	struct xpoll *queue;
	struct xt_pair pairs[4];
	int modes[4];
};

static void make(void *argument)
{
	struct maker *maker = argument;

	maker->queue = xt_open_quiet();
	for (int i = 0; i < 4; i++) {
		maker->pairs[i] = xt_pipe();
		XT_OK(xt_add(maker->queue, maker->pairs[i].r, READ,
		             maker->modes[i]));
	}
}

/* The kernel cancels what a thread submitted that has ended. */
XT_TEST(polls_of_a_thread_that_ended_go_on)
{
	struct maker maker = {
		.modes = {0, XPOLL_CLEAR, XPOLL_DISPATCH, XPOLL_ONESHOT},
	};
	struct xpoll_event event;

	xt_join(xt_start(make, &maker));
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 4; i++) {
			int fd = maker.pairs[i].r;

			if (maker.modes[i] == XPOLL_ONESHOT && round > 0)
				continue;
			xt_put(maker.pairs[i].w);
			XT_GETS(maker.queue, NULL, fd, READ);
			XT_EQ(xt_get(fd), 'x');
			XT_NONE(maker.queue);
			if (maker.modes[i] == XPOLL_DISPATCH)
				XT_OK(xt_flag(maker.queue, (uint64_t)fd, READ,
				              XPOLL_ENABLE));
		}
	XT_EQ(xpoll_wake(maker.queue), 0);
	XT_EQ(xpoll_event(maker.queue, NULL, 0, &event, 1, -1), 0);
}

/* More than the ring has room for, and for some no more memory than that. */
XT_TEST(more_reports_than_fit_into_the_ring_all_come)
{
	enum { COUNT = 1500 };
	static struct xt_pair pipes[COUNT];
	static unsigned char seen[COUNT];
	struct xpoll *queue = xt_open_quiet();
	int missing = COUNT;

	XT_FILES(2 * COUNT + 200);
	memset(seen, 0, sizeof seen);
	for (int i = 0; i < COUNT; i++) {
		pipes[i] = xt_pipe();
		XT_OK(xt_change(queue, (uint64_t)pipes[i].r, READ,
		                XPOLL_ADD | XPOLL_CLEAR, 0, 0, &seen[i]));
	}
	for (int i = 0; i < COUNT; i++)
		xt_put(pipes[i].w);
	while (missing > 0) {
		struct xpoll_event events[100];
		int count = xpoll_event(queue, NULL, 0, events, 100, XT_SOON);

		XT_CHECK(count > 0);
		for (int i = 0; i < count; i++) {
			unsigned char *mark = events[i].udata;

			/* Some more than once: DIFFERENCES.md. */
			missing -= !*mark;
			*mark = 1;
		}
	}
	for (int i = 0; i < COUNT; i++)
		XT_EQ(xt_get(pipes[i].r), 'x');
	XT_NONE(queue);
	/* And the polls that ended for that report again. */
	for (int i = 0; i < COUNT; i += 100) {
		xt_put(pipes[i].w);
		XT_GETS(queue, NULL, pipes[i].r, READ);
	}
}

/* A wait that has something at hand makes no call but the look at it. */
XT_TEST(ready_ones_cost_one_call_however_many_they_are)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipes[16];
	struct xpoll_event events[16];

	for (int i = 0; i < 16; i++) {
		pipes[i] = xt_pipe();
		XT_OK(xt_add(queue, pipes[i].r, READ, 0));
	}
	XT_EQ(xpoll_event(queue, NULL, 0, events, 16, 0), 0);
	for (int round = 0; round < 8; round++) {
		for (int i = 0; i < 16; i++)
			xt_put(pipes[i].w);
		struct xpoll_stats before = xt_stats(queue);
		XT_EQ(xpoll_event(queue, NULL, 0, events, 16, -1), 16);
		struct xpoll_stats after = xt_stats(queue);
		XT_EXPECT_EQ(after.syscalls_check - before.syscalls_check, 1);
		XT_CHECK(after.syscalls_wait - before.syscalls_wait <= 1);
		XT_EXPECT_EQ(after.syscalls_change - before.syscalls_change, 0);
		for (int i = 0; i < 16; i++)
			XT_EQ(xt_get(pipes[i].r), 'x');
	}
}
