/*
 * Goal: CLEAR is edge-triggered: at least one event for each new activity since
 * the last delivery, and none is lost (S9, hazard 10).
 * Method: activity, delivery and reading in every order; then writers that race
 * with a reader, to which the last byte must still be reported.
 */
#include "xt.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

/* S9: CLEAR reports data once, even if it stays unread. */
XT_TEST(clear_undrained_is_reported_once)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();

	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_CLEAR));
	XT_NONE(queue);
	xt_put(pipe.w);
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_NONE(queue);
	XT_NONE(queue);
}

/* S9: new data is reported even if the old data is unread. */
XT_TEST(clear_new_data_on_undrained_is_reported)
{
	if (xt_is("afd"))
		XT_SKIP("afd tells of new data after a read");
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_OK(xt_add(queue, pair.r, READ, XPOLL_CLEAR));
	for (int i = 0; i < 20; i++) {
		xt_put(pair.w);
		XT_GETS(queue, NULL, pair.r, READ);
		XT_NONE(queue);
	}
}

/* S9: new data is reported after the old data was read. */
XT_TEST(clear_drained_and_written_is_reported)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();

	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_CLEAR));
	for (int i = 0; i < 100; i++) {
		xt_put(pipe.w);
		XT_GETS(queue, NULL, pipe.r, READ);
		XT_EQ(xt_drain(pipe.r), 1);
	}
	XT_NONE(queue);
}

/* S9: if the data is read before a wait reports it, at most one event may come for it. */
XT_TEST(clear_drained_unseen_then_written_is_reported)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;

	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_CLEAR));
	for (int i = 0; i < 100; i++) {
		xt_put(pipe.w);
		XT_EQ(xt_get(pipe.r), 'x');
		XT_CHECK(xpoll_event(queue, NULL, 0, &event, 1, 0) <= 1);
		XT_NONE(queue);
		xt_put(pipe.w);
		XT_GETS(queue, NULL, pipe.r, READ);
		XT_EQ(xt_get(pipe.r), 'x');
		XT_NONE(queue);
	}
}

/* S9: WRITE is reported each time that the full pipe was emptied. */
XT_TEST(clear_write_end_is_reported_after_each_fill)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();

	XT_OK(xt_add(queue, pipe.w, WRITE, XPOLL_CLEAR));
	for (int i = 0; i < 20; i++) {
		XT_GETS(queue, NULL, pipe.w, WRITE);
		XT_NONE(queue);
		xt_fill(pipe.w);
		XT_NONE(queue);
		(void)xt_drain(pipe.r);
	}
}

/*
 * S8, S9: a level-triggered filter beside an edge-triggered one is still reported when the
 * edge-triggered one is deleted or disabled.
 */
static void level_outlives_the_edge_beside_it(int flag)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_OK(xt_add(queue, pair.r, WRITE, XPOLL_CLEAR));
	XT_GETS(queue, NULL, pair.r, WRITE);
	XT_OK(xt_add(queue, pair.r, READ, 0));
	/*
	 * afd has no edges for two filters of a socket: the library makes them, and may repeat one.
	 */
	if (!xt_is("afd"))
		XT_NONE(queue);
	XT_OK(xt_flag(queue, (uint64_t)pair.r, WRITE, flag));
	xt_put(pair.w);
	/* In some of the waits the library confirms a report by a change in the kernel. */
	for (int i = 0; i < 200; i++)
		XT_GETS(queue, NULL, pair.r, READ);
}

XT_TEST(clear_beside_a_level_is_disabled_and_the_level_stays)
{
	level_outlives_the_edge_beside_it(XPOLL_DISABLE);
}

XT_TEST(clear_beside_a_level_is_deleted_and_the_level_stays)
{
	level_outlives_the_edge_beside_it(XPOLL_DELETE);
}

/* S9: when the last reader closes the pipe, WRITE is delivered once. */
XT_TEST(clear_broken_pipe_is_reported_once)
{
	XT_NEEDS_USER_EVENTS();
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;

	xt_close(pipe.r);
	XT_OK(xt_add(queue, pipe.w, WRITE, XPOLL_CLEAR));
	XT_GETS(queue, NULL, pipe.w, WRITE);
	for (int i = 0; i < 8; i++)
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
}

/* S9: end of file is activity. */
XT_TEST(clear_end_of_file_is_reported)
{
	if (xt_wine())
		XT_SKIP(XT_WINE_PEEKS);
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xpoll_event event;

	XT_OK(xt_add(queue, pair.r, READ, XPOLL_CLEAR));
	xt_put(pair.w);
	XT_GETS(queue, &event, pair.r, READ);
	XT_EXPECT_EQ(event.flags & XPOLL_EOF, 0);
	XT_EQ(shutdown(pair.w, SHUT_WR), 0);
	XT_GETS(queue, &event, pair.r, READ);
	XT_EXPECT(event.flags & XPOLL_EOF);
	XT_NONE(queue);
}

/* Hazard 10: the kernel makes no second edge for unread data, so ENABLE must check for it. */
XT_TEST(hazard_10_enable_of_undrained_clear_is_reported)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	uint64_t ident = (uint64_t)pipe.r;

	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_CLEAR));
	xt_put(pipe.w);
	XT_GETS(queue, NULL, ident, READ);
	for (int i = 0; i < 10; i++) {
		XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
		XT_NONE(queue);
		XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
		XT_GETS(queue, NULL, ident, READ);
		XT_NONE(queue);
	}
	XT_EQ(xt_get(pipe.r), 'x');
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	XT_NONE(queue);
}

/* Hazard 10: the kernel makes no edge for a pipe that stays writable, so ENABLE must check. */
XT_TEST(hazard_10_enable_of_writable_pipe_end_is_reported)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	uint64_t ident = (uint64_t)pipe.w;

	XT_OK(xt_add(queue, pipe.w, WRITE, XPOLL_CLEAR));
	XT_GETS(queue, NULL, ident, WRITE);
	for (int i = 0; i < 100; i++) {
		XT_OK(xt_flag(queue, ident, WRITE, XPOLL_DISABLE));
		xt_put(pipe.w);
		XT_EQ(xt_get(pipe.r), 'x');
		XT_OK(xt_flag(queue, ident, WRITE, XPOLL_ENABLE));
		XT_GETS(queue, NULL, ident, WRITE);
	}
}

/* S9: of a socket's two directions, activity of one is not reported for the other. */
XT_TEST(clear_directions_are_independent)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xpoll_event events[4];

	XT_OK(xt_add(queue, pair.r, READ, XPOLL_CLEAR));
	XT_OK(xt_add(queue, pair.r, WRITE, XPOLL_CLEAR));
	XT_EQ(xpoll_event(queue, NULL, 0, events, 4, -1), 1);
	XT_EXPECT_EQ(events[0].filter, WRITE);
	for (int i = 0; i < 20; i++) {
		xt_put(pair.w);
		int count = xpoll_event(queue, NULL, 0, events, 4, -1);
		XT_CHECK(xt_find(events, count, (uint64_t)pair.r, READ) >= 0);
		XT_EQ(xt_drain(pair.r), 1);
	}
}

/*
 * S4: conditions that hold already are delivered by the next wait, whatever else was added or
 * enabled; S9: and only once.
 */
XT_TEST(clear_both_directions_that_hold_come_with_the_next_wait)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xpoll_event enable, events[4];
	int count;

	xt_put(pair.w);
	XT_OK(xt_add(queue, pair.r, READ, XPOLL_CLEAR));
	XT_OK(xt_add(queue, pair.r, WRITE, XPOLL_CLEAR | XPOLL_DISABLE));
	xpoll_set(&enable, (uint64_t)pair.r, WRITE, XPOLL_ENABLE, 0, 0, NULL);
	count = xpoll_event(queue, &enable, 1, events, 4, -1);
	XT_EXPECT(xt_find(events, count, (uint64_t)pair.r, WRITE) >= 0);
	XT_EXPECT(xt_find(events, count, (uint64_t)pair.r, READ) >= 0);
	XT_EXPECT_EQ(count, 2);
	XT_NONE(queue);
}

/* The same at the poll-like level, where one record has both directions. */
XT_TEST(clear_both_directions_that_hold_are_one_entry)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	xt_put(pair.w);
	XT_OK(xt_add(queue, pair.r, READ, XPOLL_CLEAR));
	XT_OK(xt_add(queue, pair.r, WRITE, XPOLL_CLEAR | XPOLL_DISABLE));
	XT_EQ(xpoll_ctl(queue, XPOLL_ENABLE, POLLOUT, pair.r, NULL), 0);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EXPECT_EQ(xpoll_revents(queue, NULL), POLLIN | POLLOUT);
	XT_EQ(xpoll_wait(queue, 0), 0);
}

/*
 * In two waits with room for one event each direction is delivered once; a third wait finds
 * nothing.
 */
static void come_once_each(struct xpoll *queue, int fd)
{
	struct xpoll_event event;
	unsigned told = 0;

	for (int i = 0; i < 2; i++) {
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		XT_EQ(event.ident, (uint64_t)fd);
		told |= event.filter == READ ? 1 : 2;
	}
	XT_EXPECT_EQ(told, 3);
	for (int i = 0; i < 40; i++)
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
}

/*
 * S9, S11: the event that found no room is delivered, and the delivered one is not repeated.
 * poll(2) must not check such a file, so the library has to keep the report of both.
 */
XT_TEST(clear_both_directions_of_a_device_with_room_for_one_come_once)
{
	struct xpoll *queue = xt_open();
	int fd = xt_open_path("/dev/null", O_RDWR);

	if (xt_watches_devices())
		XT_SKIP("what nobody may look at is asked for, which brings the edge up again");
	XT_OK(xt_add(queue, fd, READ, XPOLL_CLEAR));
	XT_OK(xt_add(queue, fd, WRITE, XPOLL_CLEAR));
	XT_CALL(come_once_each(queue, fd));
}

/* The same for the hang-up of a terminal, whose poll(2) bits include both directions. */
XT_TEST(clear_terminal_hung_up_with_room_for_one_comes_once)
{
	if (xt_has_kqueue())
		XT_SKIP("what nobody may look at is asked for, which brings the edge up again");
	struct xpoll *queue = xt_open();
	struct xt_pair pty = xt_pty();

	xt_close(pty.w);
	XT_OK(xpoll_ctl(queue, XPOLL_ADD | XPOLL_CLEAR, POLLIN | POLLOUT, pty.r, NULL));
	XT_CALL(come_once_each(queue, pty.r));
}

/*
 * The event that found no room is of a ONESHOT registration: the other one is not delivered again.
 */
XT_TEST(clear_beside_a_oneshot_with_room_for_one_comes_once)
{
	struct xpoll *queue = xt_open();
	int fd = xt_open_path("/", O_RDONLY);

	XT_OK(xt_add(queue, fd, READ, XPOLL_CLEAR));
	XT_OK(xt_add(queue, fd, WRITE, XPOLL_CLEAR | XPOLL_ONESHOT));
	XT_CALL(come_once_each(queue, fd));
}

/*
 * S9: a hang-up is delivered again and again for the level-triggered filter, but only once for the
 * CLEAR filter of the same descriptor.
 */
XT_TEST(clear_beside_level_is_told_of_a_hang_up_once)
{
	if (xt_is("afd"))
		XT_SKIP(XT_NO_UNIX);
	if (xt_has_kqueue())
		XT_SKIP("a level beside an edge brings the edge up again");
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	uint64_t ident = (uint64_t)pair.r;
	struct xpoll_event events[4];
	int told = 0;

	XT_OK(xt_add(queue, pair.r, READ, 0));
	XT_OK(xt_add(queue, pair.r, WRITE, XPOLL_CLEAR));
	XT_GETS(queue, NULL, ident, WRITE);
	xt_close(pair.w);
	/* More waits than the library makes in a row without calling the kernel. */
	for (int i = 0; i < 40; i++) {
		int count = xpoll_event(queue, NULL, 0, events, 4, -1);

		XT_CHECK(xt_find(events, count, ident, READ) >= 0);
		if (xt_find(events, count, ident, WRITE) >= 0)
			told++;
	}
	XT_EXPECT_EQ(told, 1);
}

/*
 * S3, S4: ENABLE makes a hang-up of a terminal count as new activity, whether the hang-up came
 * before or after the ADD.
 */
XT_TEST(clear_terminal_hung_up_comes_again_after_enable)
{
	for (int after = 0; after < 2; after++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair pty = xt_pty();

		if (!after)
			xt_close(pty.w);
		XT_OK(xt_add(queue, pty.r, READ, XPOLL_CLEAR));
		if (after)
			xt_close(pty.w);
		XT_GETS(queue, NULL, pty.r, READ);
		(void)xt_drain(pty.r);
		while (xpoll_event(queue, NULL, 0, &(struct xpoll_event){0}, 1, 0) == 1)
			continue;
		for (int i = 0; i < 3; i++) {
			XT_OK(xt_flag(queue, (uint64_t)pty.r, READ, XPOLL_ENABLE));
			XT_GETS(queue, NULL, pty.r, READ);
		}
	}
}

/*
 * S9: a queue that watches a pipe level-triggered and one that watches it edge-triggered do not
 * affect each other.
 */
/* A terminal that hung up is ready in each poll, so the edge must come from the library. */
XT_TEST(clear_terminal_hung_up_while_registered_is_told_once)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pty = xt_pty();
	struct xpoll_event events[4];

	XT_OK(xt_add(queue, pty.r, WRITE, 0));
	XT_GETS(queue, NULL, pty.r, WRITE);
	xt_close(pty.w);
	XT_OK(xpoll_ctl(queue, XPOLL_ADD | XPOLL_CLEAR, POLLIN | POLLOUT, pty.r, NULL));
	XT_EQ(xt_take(queue, events, 4, XT_SOON), 2);
	for (int i = 0; i < 5; i++)
		XT_EQ(xpoll_event(queue, NULL, 0, events, 4, 1000000), 0);
}

XT_TEST(clear_in_two_queues_each_is_told)
{
	struct xpoll *edge = xt_open();
	struct xpoll *level = xt_open();
	struct xt_pair pipe = xt_pipe();

	XT_OK(xt_add(edge, pipe.r, READ, XPOLL_CLEAR));
	XT_OK(xt_add(level, pipe.r, READ, 0));
	xt_put(pipe.w);
	XT_GETS(level, NULL, pipe.r, READ);
	XT_GETS(edge, NULL, pipe.r, READ);
	XT_GETS(level, NULL, pipe.r, READ);
	XT_NONE(edge);
}

/*
 * S9: no edge is lost.  Writers write bytes one by one into one pipe; the reader waits without a
 * timeout and reads everything.  If an edge were lost, the reader would hang.
 */
struct stream {
	struct xt_pair pipe;
	int bytes;
	atomic_int got;
};

static void stream_write(void *argument)
{
	struct stream *stream = argument;

	for (int i = 0; i < stream->bytes; i++) {
		while (write(stream->pipe.w, "x", 1) != 1)
			(void)sched_yield();
		/* Sometimes let the reader empty the pipe. */
		if (i % 16 == 0)
			(void)sched_yield();
	}
}

static void stream_run(struct xt_pair pair, int toggles)
{
	struct xpoll *queue = xt_open();
	struct stream stream = {.pipe = pair, .bytes = XT_SLOW && !XT_SANITIZED ? 500 : 5000};
	struct xt_thread *writers[2];
	struct xpoll_event event;
	uint64_t ident = (uint64_t)pair.r;

	XT_OK(xt_add(queue, pair.r, READ, XPOLL_CLEAR));
	for (int i = 0; i < 2; i++)
		writers[i] = xt_start(stream_write, &stream);
	for (int total = 0, rounds = 0; total < 2 * stream.bytes; rounds++) {
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
		total += xt_drain(pair.r);
		if (!toggles || rounds % toggles)
			continue;
		XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
		XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	}
	for (int i = 0; i < 2; i++)
		xt_join(writers[i]);
}

XT_TEST(clear_pipe_with_concurrent_writers_loses_nothing)
{
	stream_run(xt_pipe(), 0);
}

/* Complaint: Windows: sockets only, no edges. */
XT_TEST(clear_socket_with_concurrent_writers_loses_nothing)
{
	stream_run(xt_socketpair(SOCK_STREAM), 0);
}

XT_TEST(clear_toggled_with_concurrent_writers_loses_nothing)
{
	stream_run(xt_pipe(), 3);
}
