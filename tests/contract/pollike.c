/*
 * Goal: the poll-like level beyond readiness: registrations shared with the event level, data, the
 * order of records, modes that act when xpoll_revents returns a record, one waiting thread (section
 * 3 of xpoll.h).
 * Method: sockets with both directions ready; each sentence of that section.
 */
#include "xt.h"

static int add(struct xpoll *queue, int op, int events, int fd, void *data)
{
	return xpoll_ctl(queue, XPOLL_ADD | op, events, fd, data);
}

XT_TEST(both_directions_come_merged_once)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_ready_pair();

	XT_EQ(add(queue, 0, POLLIN | POLLOUT, pair.r, NULL), 0);
	for (int i = 0; i < 5; i++) {
		XT_EQ(xpoll_wait(queue, -1), 1);
		XT_EQ(xpoll_revents(queue, NULL), POLLIN | POLLOUT);
		XT_EQ(xpoll_revents(queue, NULL), 0);
		XT_EQ(xpoll_revents(queue, NULL), 0);
	}
}

XT_TEST(revents_before_any_wait_is_the_end)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_ready_pair();

	XT_EQ(add(queue, 0, POLLIN, pair.r, NULL), 0);
	XT_EQ(xpoll_revents(queue, NULL), 0);
	XT_EQ(xpoll_wait(queue, 0), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLIN);
}

/* A record carries the data of its first ready filter, in the order READ, WRITE, EXCEPT. */
XT_TEST(data_is_that_of_the_first_reported_direction)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	int in, out;
	void *data = NULL;

	XT_EQ(add(queue, 0, POLLOUT, pair.r, &out), 0);
	XT_EQ(add(queue, 0, POLLIN, pair.r, &in), 0);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, &data), POLLOUT);
	XT_EXPECT(data == &out);
	xt_put(pair.w);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, &data), POLLIN | POLLOUT);
	XT_EXPECT(data == &in);
}

XT_TEST(data_is_written_by_add_for_each_named_direction_only)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_ready_pair();
	struct xpoll_event now;
	int first, second, ignored;
	uint64_t ident = (uint64_t)pair.r;

	XT_EQ(add(queue, 0, POLLIN | POLLOUT, pair.r, &first), 0);
	XT_EQ(add(queue, 0, POLLOUT, pair.r, &second), 0);
	XT_EQ(xpoll_ctl(queue, XPOLL_DISABLE, POLLIN, pair.r, &ignored), 0);
	XT_EQ(xpoll_ctl(queue, XPOLL_ENABLE, POLLIN, pair.r, &ignored), 0);
	XT_EQ(xpoll_lookup(queue, ident, READ, &now), 0);
	XT_EXPECT(now.udata == &first);
	XT_EQ(xpoll_lookup(queue, ident, WRITE, &now), 0);
	XT_EXPECT(now.udata == &second);
}

XT_TEST(registrations_are_shared_with_the_event_level)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_ready_pair();
	struct xpoll_event now;
	uint64_t ident = (uint64_t)pair.r;
	void *data = NULL;

	XT_EQ(add(queue, 0, POLLIN | (xt_has_except() ? POLLPRI : 0), pair.r, &pair), 0);
	XT_EQ(xpoll_lookup(queue, ident, READ, &now), 0);
	XT_EQ(xpoll_lookup(queue, ident, EXCEPT, &now) == 0, xt_has_except());
	XT_FAILS(xpoll_lookup(queue, ident, WRITE, &now), ENOENT);
	XT_GETS(queue, &now, ident, READ);
	XT_EXPECT(now.udata == &pair);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DELETE));
	XT_OK(xt_change(queue, ident, WRITE, XPOLL_ADD, 0, 0, &now));
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, &data), POLLOUT);
	XT_EXPECT(data == &now);
}

/* The event level does not deliver some hang-ups; the poll-like level must still report them. */
XT_TEST(hang_up_that_the_event_level_does_not_tell_is_reported)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_DISPATCH, XPOLL_ONESHOT};

	if (xt_is("afd"))
		XT_SKIP(XT_NO_UNIX);
	if (xt_has_kqueue())
		XT_SKIP("kqueue(2) does not tell of them either");
	for (int i = 0; i < 8; i++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair pair = xt_socketpair(SOCK_STREAM);
		int fd = i < 4 ? xt_socket(AF_INET, SOCK_STREAM) : pair.r;
		int events = i < 4 ? POLLIN | POLLOUT : POLLPRI;

		xt_close(pair.w);
		XT_EQ(add(queue, modes[i % 4], events, fd, NULL), 0);
		XT_NONE(queue);
		XT_NONE(queue);
		XT_EQ(xpoll_wait(queue, 0), 1);
		XT_EQ(xpoll_revents(queue, NULL), xt_poll(fd, events));
		XT_NONE(queue);
		xt_destroy(queue);
	}
}

/*
 * The same after the event level has delivered the hang-up for another filter, which was deleted.
 */
XT_TEST(hang_up_that_is_told_of_one_filter_only_is_reported_of_the_other)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_DISPATCH, XPOLL_ONESHOT};

	if (xt_is("afd"))
		XT_SKIP(XT_NO_UNIX);
	XT_NEEDS_EXCEPT();
	for (int i = 0; i < 4; i++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair pair = xt_socketpair(SOCK_STREAM);

		xt_close(pair.w);
		XT_OK(xt_add(queue, pair.r, EXCEPT, modes[i]));
		XT_OK(xt_add(queue, pair.r, WRITE, XPOLL_ONESHOT));
		XT_GETS(queue, NULL, pair.r, WRITE);
		XT_NONE(queue);
		XT_EQ(xpoll_wait(queue, 0), 1);
		XT_EQ(xpoll_revents(queue, NULL), POLLHUP);
		xt_destroy(queue);
	}
}

XT_TEST(rdhup_belongs_to_reading)
{
	XT_NEEDS_RDHUP();
	if (xt_wine())
		XT_SKIP(XT_WINE_PEEKS);
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xpoll_event now;

	XT_EQ(add(queue, 0, POLLRDHUP, pair.r, NULL), 0);
	XT_EQ(xpoll_lookup(queue, (uint64_t)pair.r, READ, &now), 0);
	/* POLLIN is not requested, so data is not reported. */
	xt_put(pair.w);
	XT_EQ(xpoll_wait(queue, 0), 0);
	XT_EQ(shutdown(pair.w, SHUT_WR), 0);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLRDHUP);
	XT_EQ(xpoll_ctl(queue, XPOLL_DELETE, POLLRDHUP, pair.r, NULL), 0);
	XT_FAILS(xpoll_lookup(queue, (uint64_t)pair.r, READ, &now), ENOENT);
}

XT_TEST(delete_removes_what_is_there_of_the_named)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_ready_pair();
	int both = POLLIN | POLLOUT;

	XT_EQ(add(queue, 0, POLLIN, pair.r, NULL), 0);
	XT_EQ(xpoll_ctl(queue, XPOLL_DELETE, both, pair.r, NULL), 0);
	XT_FAILS(xpoll_ctl(queue, XPOLL_DELETE, both, pair.r, NULL), ENOENT);
	XT_EQ(xpoll_wait(queue, 0), 0);
}

/*
 * POLLIN and POLLRDHUP are two requests of one registration, READ; the other direction is not
 * registered.
 */
XT_TEST(delete_of_one_wish_of_two_beside_a_direction_that_is_not_there)
{
	XT_NEEDS_RDHUP();
	if (xt_wine())
		XT_SKIP(XT_WINE_PEEKS);
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_ready_pair();

	XT_EQ(add(queue, 0, POLLIN | POLLRDHUP, pair.r, NULL), 0);
	XT_EQ(xpoll_ctl(queue, XPOLL_DELETE, POLLIN | POLLOUT, pair.r, NULL), 0);
	XT_EQ(xpoll_wait(queue, 0), 0);
	XT_EQ(shutdown(pair.w, SHUT_WR), 0);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLRDHUP);
}

/* Some kernels cannot report the end of such a file without the data before it. */
XT_TEST(rdhup_alone_of_what_is_no_stream_leaves_the_other_directions)
{
	XT_NEEDS_RDHUP();
	struct xt_pair pair = xt_socketpair(SOCK_DGRAM);
	int fds[2] = {pair.r, xt_eventfd()};
	uint64_t one = 1;

	xt_put(pair.w);
	for (int i = 0; i < 2 && fds[i] >= 0; i++) {
		struct xpoll *queue = xt_open_quiet();
		struct xpoll_event now;

		if (i == 1)
			XT_EQ(write(fds[i], &one, sizeof one), (ssize_t)sizeof one);
		XT_EQ(xt_poll(fds[i], POLLIN), POLLIN);
		XT_EQ(add(queue, 0, POLLOUT, fds[i], &pair), 0);
		XT_EQ(add(queue, 0, POLLRDHUP, fds[i], NULL), 0);
		XT_EQ(xpoll_lookup(queue, (uint64_t)fds[i], XPOLL_FILT_WRITE, &now), 0);
		XT_EXPECT(now.udata == &pair);
		XT_EQ(xpoll_wait(queue, 0), 1);
		XT_EXPECT_EQ(xpoll_revents(queue, NULL), POLLOUT);
		XT_EQ(xpoll_ctl(queue, XPOLL_DISABLE, POLLOUT, fds[i], NULL), 0);
		XT_EQ(xpoll_wait(queue, 0), 0);
		/* POLLIN is added and deleted again. */
		XT_EQ(add(queue, 0, POLLIN, fds[i], NULL), 0);
		XT_EQ(xpoll_wait(queue, 0), 1);
		XT_EXPECT_EQ(xpoll_revents(queue, NULL), POLLIN);
		XT_EQ(xpoll_ctl(queue, XPOLL_DELETE, POLLIN, fds[i], NULL), 0);
		XT_EQ(xpoll_wait(queue, 0), 0);
	}
}

XT_TEST(enable_and_disable_want_all_named_or_change_nothing)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_ready_pair();
	int both = POLLIN | POLLOUT;

	XT_EQ(add(queue, 0, POLLIN, pair.r, NULL), 0);
	XT_FAILS(xpoll_ctl(queue, XPOLL_DISABLE, both, pair.r, NULL), ENOENT);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLIN);
	XT_EQ(xpoll_ctl(queue, XPOLL_DISABLE, POLLIN, pair.r, NULL), 0);
	XT_FAILS(xpoll_ctl(queue, XPOLL_ENABLE, both, pair.r, NULL), ENOENT);
	XT_EQ(xpoll_wait(queue, 0), 0);
}

XT_TEST(add_disabled_is_silent_until_enabled)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_ready_pair();
	int both = POLLIN | POLLOUT;

	XT_EQ(add(queue, XPOLL_DISABLE, both, pair.r, NULL), 0);
	XT_EQ(xpoll_wait(queue, 0), 0);
	XT_EQ(xpoll_ctl(queue, XPOLL_ENABLE, POLLOUT, pair.r, NULL), 0);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLOUT);
}

/* Modes act when xpoll_revents returns the record, not when xpoll_wait finds it. */
XT_TEST(oneshot_acts_when_handed_out)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_ready_pair();
	struct xpoll_event now;

	XT_EQ(add(queue, XPOLL_ONESHOT, POLLIN, pair.r, NULL), 0);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_lookup(queue, (uint64_t)pair.r, READ, &now), 0);
	/* xpoll_revents has not returned the record, so the next wait does. */
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLIN);
	XT_FAILS(xpoll_lookup(queue, (uint64_t)pair.r, READ, &now), ENOENT);
	XT_EQ(xpoll_wait(queue, 0), 0);
}

XT_TEST(dispatch_acts_when_handed_out)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_ready_pair();

	XT_EQ(add(queue, XPOLL_DISPATCH, POLLIN, pair.r, NULL), 0);
	for (int i = 0; i < 5; i++) {
		XT_EQ(xpoll_wait(queue, -1), 1);
		XT_EQ(xpoll_wait(queue, -1), 1);
		XT_EQ(xpoll_revents(queue, NULL), POLLIN);
		XT_EQ(xpoll_wait(queue, 0), 0);
		XT_EQ(xpoll_ctl(queue, XPOLL_ENABLE, POLLIN, pair.r, NULL), 0);
	}
}

/* Take records until there is none.  Returns their number. */
static int take_rest(struct xpoll *queue)
{
	int count = 0;

	while (count < 10 && xpoll_wait(queue, 0) > 0)
		while (xpoll_revents(queue, NULL))
			count++;
	return count;
}

XT_TEST(clear_not_handed_out_comes_again)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_ready_pair();

	XT_EQ(add(queue, XPOLL_CLEAR, POLLIN, pair.r, NULL), 0);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLIN);
	/* The one activity may be delivered twice, but not again and again. */
	XT_CHECK(take_rest(queue) <= 1);
	XT_EQ(xpoll_wait(queue, 0), 0);
	if (xt_is("afd"))
		XT_SKIP("afd tells of new data after a read");
	xt_put(pair.w);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLIN);
}

/* Modes act for each direction, although both are in one record. */
XT_TEST(oneshot_is_per_direction)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_EQ(add(queue, XPOLL_ONESHOT, POLLIN | POLLOUT, pair.r, NULL), 0);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLOUT);
	XT_EQ(xpoll_wait(queue, 0), 0);
	xt_put(pair.w);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLIN);
	XT_FAILS(xpoll_ctl(queue, XPOLL_DELETE, POLLIN | POLLOUT, pair.r, NULL),
	         ENOENT);
}

/* The program takes one of several records: the next wait returns the others. */
XT_TEST(entries_not_taken_come_again)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pairs[8];
	int seen = 0;

	for (int i = 0; i < 8; i++) {
		pairs[i] = xt_ready_pair();
		XT_EQ(add(queue, XPOLL_ONESHOT, POLLIN, pairs[i].r, &pairs[i]),
		      0);
	}
	for (int i = 0; i < 8; i++) {
		void *data = NULL;

		XT_CHECK(xpoll_wait(queue, -1) == 8 - i);
		XT_EQ(xpoll_revents(queue, &data), POLLIN);
		seen |= 1 << ((struct xt_pair *)data - pairs);
	}
	XT_EQ(seen, 255);
	XT_EQ(xpoll_wait(queue, 0), 0);
}

/* The program reads the data after xpoll_wait has found it and before xpoll_revents returns it */
XT_TEST(entry_drained_before_it_is_handed_out_is_no_other_ones)
{
	struct xpoll *queue = xt_open();
	struct xt_pair one = xt_ready_pair();
	struct xt_pair two = xt_ready_pair();
	void *data = NULL;

	XT_EQ(add(queue, 0, POLLIN, one.r, &one), 0);
	XT_EQ(add(queue, 0, POLLIN, two.r, &two), 0);
	XT_EQ(xpoll_wait(queue, -1), 2);
	XT_EQ(xt_get(one.r), 'x');
	int count = 0;
	while (xpoll_revents(queue, &data)) {
		XT_CHECK(data == &one || data == &two);
		count++;
	}
	XT_CHECK(count == 1 || count == 2);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, &data), POLLIN);
	XT_EXPECT(data == &two);
}

XT_TEST(user_events_neither_end_nor_are_taken_by_the_wait)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_ready_pair();

	XT_OK(xt_flag(queue, 1, USER, XPOLL_ADD | XPOLL_CLEAR));
	XT_OK(xt_trigger(queue, 1));
	XT_EQ(xpoll_wait(queue, 0), 0);
	XT_EQ(xpoll_wait(queue, 2), 0);
	XT_EQ(add(queue, XPOLL_ONESHOT, POLLIN, pair.r, NULL), 0);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLIN);
	XT_GETS(queue, NULL, 1, USER);
}

XT_TEST(wake_ends_the_wait_with_nothing)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_ready_pair();

	XT_EQ(xpoll_wake(queue), 0);
	XT_EQ(xpoll_wait(queue, -1), 0);
	XT_EQ(xpoll_revents(queue, NULL), 0);
	XT_EQ(add(queue, 0, POLLIN, pair.r, NULL), 0);
	XT_EQ(xpoll_wake(queue), 0);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_revents(queue, NULL), POLLIN);
}

struct second {
	struct xpoll *queue;
	int rc;
};

static void first_wait(void *argument)
{
	struct second *second = argument;

	/* EBUSY: the other thread may be inside its call with timeout 0. */
	do {
		second->rc = xpoll_wait(second->queue, -1);
	} while (second->rc < 0 && errno == EBUSY);
}

XT_TEST(second_thread_in_wait_is_ebusy)
{
	struct second second = {.queue = xt_open()};
	struct xt_pair pair = xt_pipe();
	struct xpoll_event event;
	int rc;

	XT_EQ(add(second.queue, 0, POLLIN, pair.r, NULL), 0);
	struct xt_thread *thread = xt_start(first_wait, &second);
	/*
	 * The other thread may not be in xpoll_wait yet: then this wait polls, finds nothing and
	 * returns.
	 */
	do {
		errno = 0;
		rc = xpoll_wait(second.queue, 0);
	} while (rc == 0);
	XT_EQ(rc, -1);
	XT_EXPECT_EQ(errno, EBUSY);
	XT_FAILS(xpoll_event(second.queue, NULL, 0, &event, 1, 0), EBUSY);
	xt_put(pair.w);
	xt_join(thread);
	XT_EQ(second.rc, 1);
	XT_EQ(xpoll_wait(second.queue, -1), 1);
}

/* A short version of the original looptest program: a byte is passed through a ring of pipes. */
XT_TEST(looptest_in_short_goes_round)
{
	enum { PIPES = 16, ROUNDS = XT_SLOW ? 500 : 20000 };
	struct xpoll *queue = xt_open();
	struct xt_pair pipes[PIPES];
	int reads = 0;

	for (int i = 0; i < PIPES; i++) {
		pipes[i] = xt_pipe();
		XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, pipes[i].r,
		                &pipes[i]),
		      0);
		XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLOUT, pipes[i].w,
		                &pipes[i]),
		      0);
		XT_EQ(xpoll_ctl(queue, XPOLL_DISABLE, POLLOUT, pipes[i].w,
		                NULL),
		      0);
	}
	xt_put(pipes[0].w);
	while (reads < ROUNDS) {
		struct xt_pair *pipe;
		void *data = NULL;

		XT_EQ(xpoll_wait(queue, -1), 1);
		int revents = xpoll_revents(queue, &data);
		pipe = data;
		if (revents == POLLOUT) {
			XT_EQ(xpoll_ctl(queue, XPOLL_DISABLE, POLLOUT, pipe->w,
			                NULL),
			      0);
			xt_put(pipe->w);
			continue;
		}
		XT_EQ(revents, POLLIN);
		XT_EQ(xt_get(pipe->r), 'x');
		pipe = &pipes[++reads % PIPES];
		XT_EQ(xpoll_ctl(queue, XPOLL_ENABLE, POLLOUT, pipe->w, NULL),
		      0);
	}
}
