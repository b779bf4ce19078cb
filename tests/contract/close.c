/*
 * Goal: after close(2) of a registered descriptor without DELETE (S7, hazards 1
 * and 2) the registration ends on each back end whose kernel reports the close,
 * and no stale event is delivered for a new file with the same descriptor.
 * Method: close, duplicate, reuse.  The kernel does not inform poll and select
 * that a descriptor refers to another file; their documented alternative,
 * xpoll_close_fd, is tested in close_fd.c.
 */
#include "xt.h"

#ifdef __linux__
#include <sys/epoll.h>
#endif

/*
 * Disable and enable the filter, after which the library itself checks a registration that was
 * delivered once.
 */
static int toggle(struct xpoll *queue, int fd, int filter)
{
	int rc = xt_flag(queue, (uint64_t)fd, filter, XPOLL_DISABLE);

	return rc ? rc : xt_flag(queue, (uint64_t)fd, filter, XPOLL_ENABLE);
}

/* S7: the closed descriptor is the last one of the pipe's end, and data is unread. */
XT_TEST(close_registered_one_is_silent)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_ONESHOT,
	                            XPOLL_DISPATCH};
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 8; i++) {
		struct xt_pair pipe = xt_pipe();

		XT_OK(xt_add(queue, pipe.r, READ, modes[i % 4]));
		if (i >= 4)
			XT_OK(toggle(queue, pipe.r, READ));
		xt_put(pipe.w);
		xt_close(pipe.r);
		XT_NONE(queue);
		XT_NONE(queue);
	}
}

XT_TEST(close_delivered_one_is_silent)
{
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 2; i++) {
		struct xt_pair pipe = xt_pipe();

		XT_OK(xt_add(queue, pipe.r, READ, 0));
		if (i == 1)
			XT_OK(toggle(queue, pipe.r, READ));
		xt_put(pipe.w);
		XT_GETS(queue, NULL, pipe.r, READ);
		xt_close(pipe.r);
		XT_NONE(queue);
	}
}

XT_TEST(close_then_change_is_an_error)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event now;
	uint64_t ident = (uint64_t)pipe.r;

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	xt_close(pipe.r);
	XT_STATUS(xt_flag(queue, ident, READ, XPOLL_DELETE), EBADF);
	XT_STATUS(xt_add(queue, (int)ident, READ, 0), EBADF);
	XT_FAILS(xpoll_lookup(queue, ident, READ, &now), ENOENT);
}

/* The poll-like level does not report POLLNVAL for a closed descriptor. */
XT_TEST(close_at_the_poll_like_level_is_silent)
{
	struct xpoll *queue = xt_open();
	struct xt_pair gone = xt_pipe();
	struct xt_pair stays = xt_pipe();

	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, gone.r, NULL), 0);
	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, stays.r, &stays), 0);
	xt_put(gone.w);
	xt_put(stays.w);
	xt_close(gone.r);
	for (int i = 0; i < 3; i++) {
		void *data = NULL;

		XT_CHECK(xpoll_wait(queue, -1) >= 1);
		XT_EQ(xpoll_revents(queue, &data), POLLIN);
		XT_EXPECT(data == &stays);
		XT_EQ(xpoll_revents(queue, &data), 0);
	}
}

/*
 * Hazard 1: the candidate's descriptor refers to a new file when the library checks it.
 * Complaint: A deferred delete meets the next file of that number.
 */
XT_TEST(hazard_01_reused_number_gets_no_stale_event)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event now;

	if (!xt_sees_reuse())
		XT_SKIP("this back end cannot tell a reopened number (S7)");
	for (int i = 0; i < 4; i++) {
		struct xt_pair old = xt_pipe();
		struct xt_pair new = xt_pipe();
		uint64_t ident = (uint64_t)old.r;

		XT_OK(xt_add(queue, old.r, READ, 0));
		if (i & 1)
			XT_OK(toggle(queue, old.r, READ));
		xt_put(old.w);
		XT_GETS(queue, NULL, old.r, READ);
		xt_put(new.w);
		if (i & 2)
			xt_close(old.r);
		xt_number(new.r, (int)ident);
		XT_NONE(queue);
		XT_NONE(queue);
		/* A registration of the new file is not affected by the old one. */
		XT_OK(xt_add(queue, (int)ident, READ, XPOLL_DISPATCH));
		XT_GETS(queue, NULL, ident, READ);
		XT_EQ(xpoll_lookup(queue, ident, READ, &now), 0);
		XT_OK(xt_flag(queue, ident, READ, XPOLL_DELETE));
	}
}

/*
 * S7: the same with the poll-like level, whose ADD also enables.
 * Complaint: The library's table is out of date: adding fails.
 */
XT_TEST(close_reopen_and_ctl_add_works)
{
	struct xpoll *queue = xt_open();
	struct xt_pair old = xt_pipe();
	int number = old.r;

	for (int i = 0; i < 50; i++) {
		void *data = NULL;

		XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, number, &old), 0);
		if (i % 3 == 0)
			XT_OK(toggle(queue, number, READ));
		xt_put(old.w);
		XT_EQ(xpoll_wait(queue, -1), 1);
		XT_EQ(xpoll_revents(queue, &data), POLLIN);
		XT_EXPECT(data == &old);
		xt_shut(old);
		old = xt_pipe();
		xt_number(old.r, number);
		old.r = number;
	}
}

/* Wait with a timeout, and return true once the queue sleeps without reports of the dead entry. */
static bool comes_to_rest(struct xpoll *queue)
{
	struct xpoll_event events[8];

	for (int i = 0; i < 100; i++)
		(void)xpoll_event(queue, NULL, 0, events, 8, 0);
	struct xpoll_stats before = xt_stats(queue);
	if (!XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, events, 8, 30000000), 0))
		return false;
	struct xpoll_stats after = xt_stats(queue);
	return XT_EXPECT(after.syscalls_wait - before.syscalls_wait <= 20);
}

/*
 * Hazard 2: the data stays unread, and a duplicate keeps the closed file's entry in the epoll set.
 * Complaint: A closed file whose duplicate is open reports for ever.
 */
XT_TEST(hazard_02_close_with_duplicate_is_dropped)
{
	for (int toggled = 0; toggled < 2; toggled++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair pipe = xt_pipe();
		int copy = xt_dup(pipe.r);

		XT_OK(xt_add(queue, pipe.r, READ, 0));
		if (toggled)
			XT_OK(toggle(queue, pipe.r, READ));
		xt_close(pipe.r);
		xt_put(pipe.w);
		XT_CHECK(comes_to_rest(queue));
		XT_EQ(xt_get(copy), 'x');
		xt_put(pipe.w);
		XT_NONE(queue);
	}
}

/* Hazard 2: then the descriptor is reused and registered. */
XT_TEST(hazard_02_dead_entry_and_reused_number_do_not_mix)
{
	if (!xt_sees_reuse())
		XT_SKIP("this back end cannot tell a reopened number (S7)");
	for (int i = 0; i < 4; i++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair old = xt_pipe();
		struct xt_pair new = xt_pipe();
		struct xt_pair other = xt_pipe();
		int number = old.r;

		(void)xt_dup(old.r);
		XT_OK(xt_add(queue, other.r, READ, 0));
		XT_OK(xt_add(queue, old.r, READ, 0));
		if (i & 1)
			XT_OK(toggle(queue, old.r, READ));
		xt_number(new.r, number);
		xt_put(old.w);
		XT_OK(xt_add(queue, number, READ, i & 2 ? XPOLL_CLEAR : 0));
		/* The old pipe has data, the new one none. */
		XT_CHECK(comes_to_rest(queue));
		XT_NONE(queue);
		xt_put(new.w);
		XT_GETS(queue, NULL, number, READ);
		XT_EQ(xt_get(number), 'x');
		XT_OK(xt_flag(queue, (uint64_t)number, READ, XPOLL_DELETE));
		XT_CHECK(comes_to_rest(queue));
		xt_put(other.w);
		XT_GETS(queue, NULL, other.r, READ);
	}
}

/*
 * Hazard 2: DELETE of the closed descriptor fails with EBADF, and removes the registration
 * nevertheless.
 */
XT_TEST(hazard_02_delete_after_close_with_duplicate_is_silent)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	uint64_t ident = (uint64_t)pipe.r;

	(void)xt_dup(pipe.r);
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	xt_close(pipe.r);
	xt_put(pipe.w);
	XT_STATUS(xt_flag(queue, ident, READ, XPOLL_DELETE), EBADF);
	XT_CHECK(comes_to_rest(queue));
	XT_NONE(queue);
}

/* Hazard 2: many dead entries, so that the epoll set has to be renewed. */
XT_TEST(hazard_02_many_dead_entries_others_survive)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair alive[8];

	for (int i = 0; i < 8; i++) {
		alive[i] = xt_pipe();
		XT_OK(xt_add(queue, alive[i].r, READ,
		             i % 2 ? XPOLL_CLEAR : XPOLL_DISPATCH));
	}
	for (int i = 0; i < 32; i++) {
		struct xt_pair dead = xt_pipe();

		(void)xt_dup(dead.r);
		XT_OK(xt_add(queue, dead.r, READ, 0));
		xt_put(dead.w);
		XT_STATUS(xt_flag(queue, (uint64_t)dead.r, READ, XPOLL_DISABLE),
		          0);
		XT_OK(xt_flag(queue, (uint64_t)dead.r, READ, XPOLL_ENABLE));
		xt_close(dead.r);
	}
	XT_CHECK(comes_to_rest(queue));
	for (int i = 0; i < 8; i++) {
		xt_put(alive[i].w);
		XT_GETS(queue, NULL, alive[i].r, READ);
		XT_EQ(xt_get(alive[i].r), 'x');
	}
}

/* Hazard 2: the reports of two dead entries alternate; both count for the renewal. */
XT_TEST(hazard_02_two_dead_entries_that_alternate_come_to_rest)
{
	enum { NUMBER = 200, APART = 16 };
	struct xpoll *queue = xt_open_quiet();

	for (int i = 0; i < 2; i++) {
		struct xt_pair dead = xt_pipe();
		int number = NUMBER + i * APART;

		xt_number(dead.r, number);
		(void)xt_dup(number);
		XT_OK(xt_add(queue, number, READ, 0));
		xt_close(number);
		xt_put(dead.w);
	}
	XT_CHECK(comes_to_rest(queue));
	XT_NONE(queue);
}

/*
 * Hazard 2: the kernel continues to report a broken pipe, however it was registered and however
 * many events fit into the array.
 */
XT_TEST(hazard_02_broken_pipe_with_duplicate_comes_to_rest)
{
	static const int filters[] = {READ, WRITE, EXCEPT};
	struct xpoll_event event;

	for (int i = 0; i < 6; i++) {
		if (filters[i % 3] == EXCEPT && !xt_pipes_have_except())
			continue;
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair pipe = xt_pipe();

		(void)xt_dup(pipe.w);
		XT_OK(xt_add(queue, pipe.w, filters[i % 3], 0));
		xt_close(pipe.r);
		xt_close(pipe.w);
		if (i >= 3)
			(void)xpoll_event(queue, NULL, 0, &event, 1, 0);
		XT_CHECK(comes_to_rest(queue));
	}
}

/* select(2) fails with EBADF for a closed descriptor, and then reports no other descriptor. */
XT_TEST(closed_one_does_not_hide_a_ready_one)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair closed = xt_pipe();
	struct xt_pair ready = xt_pipe();
	struct xpoll_event events[4];

	xt_put(ready.w);
	XT_OK(xt_add(queue, closed.r, READ, 0));
	XT_OK(xt_add(queue, ready.r, READ, 0));
	xt_close(closed.r);
	XT_EQ(xpoll_event(queue, NULL, 0, events, 4, 0), 1);
	XT_EXPECT_EQ(events[0].ident, ready.r);
}

/*
 * On epoll a closed file with a duplicate is reported until the library detects that: see
 * DIFFERENCES.md.
 */
XT_TEST(closed_one_with_a_duplicate_is_silent_without_a_kernel_queue)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_ONESHOT,
	                            XPOLL_DISPATCH};
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 4 && !xt_sees_reuse(); i++) {
		struct xt_pair pipe = xt_pipe();

		(void)xt_dup(pipe.r);
		XT_OK(xt_add(queue, pipe.r, READ, modes[i]));
		xt_put(pipe.w);
		xt_close(pipe.r);
		XT_NONE(queue);
		XT_STATUS(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_DELETE),
		          EBADF);
	}
}

/*
 * The descriptor refers to a regular file now.  ENABLE may call the kernel, which may refuse that
 * file.
 */
XT_TEST(enable_of_a_number_that_is_a_file_now_is_enoent_or_nothing)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();

	if (!xt_sees_reuse())
		XT_SKIP("this back end cannot tell a reopened number (S7)");
	if (xt_is("afd"))
		XT_SKIP("afd has no xpoll_fd");
	XT_CHECK(xpoll_fd(queue) >= 0);
	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_DISABLE));
	xt_number(xt_file("text"), pipe.r);
	int rc = xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_ENABLE);
	XT_EXPECT(rc == 0 || rc == ENOENT);
	XT_NONE(queue);
	XT_STATUS(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_ENABLE), ENOENT);
}

#ifdef __linux__
/*
 * The report of a file that poll(2) must not check, and whose event found no room, is kept.  An
 * epoll set is such a file; the user event is delivered before it.
 */
XT_TEST(close_one_whose_event_found_no_room_is_silent)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_ONESHOT,
	                            XPOLL_DISPATCH};

	for (int i = 0; i < 8; i++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair pipe = xt_pipe();
		int set = xt_keep(epoll_create1(EPOLL_CLOEXEC));
		struct epoll_event wanted = {.events = EPOLLIN};
		struct xpoll_event event;

		xt_put(pipe.w);
		XT_OK(epoll_ctl(set, EPOLL_CTL_ADD, pipe.r, &wanted));
		XT_OK(xt_flag(queue, 1, USER, XPOLL_ADD));
		XT_OK(xt_trigger(queue, 1));
		XT_OK(xt_add(queue, set, READ, modes[i % 4]));
		for (int k = 0; k < 20; k++)
			XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 1);
		XT_OK(xt_flag(queue, 1, USER, XPOLL_DELETE));
		if (i < 4)
			xt_close(set);
		else
			xt_number(xt_pipe().r, set);
		/* An event that waits for delivery in this process is not removed by kqueue(2). */
		if (i < 4 || (xt_sees_reuse() && !xt_is("kqueue")))
			XT_NONE(queue);
		xt_destroy(queue);
	}
}
#endif

/* The kernel refuses a regular file in any call, so DELETE always detects the reuse. */
XT_TEST(delete_on_a_number_that_is_a_file_now_is_enoent)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_DISPATCH};

	for (int i = 0; i < 12; i++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair old = xt_socketpair(SOCK_STREAM);
		uint64_t ident = (uint64_t)old.r;
		uint32_t notes = i >= 9 ? XPOLL_NOTE_EXCLUSIVE : 0;
		int flags = XPOLL_ADD | modes[i % 3];
		int rc;

		XT_OK(xt_change(queue, ident, READ, flags, notes, 0, NULL));
		if (i >= 3 && i < 9)
			XT_OK(xt_add(queue, old.r, WRITE, i < 6 ? modes[i % 3] : 0));
		xt_number(xt_file("text"), old.r);
		rc = xt_flag(queue, ident, READ, XPOLL_DELETE);
		if (xt_add_sees_reuse())
			XT_EXPECT_STATUS(rc, ENOENT);
		else /* this back end only knows the descriptor's number */
			XT_EXPECT(rc == 0 || rc == ENOENT);
		rc = xt_flag(queue, ident, READ, XPOLL_DELETE);
		XT_EXPECT_STATUS(rc, ENOENT);
		xt_destroy(queue);
	}
}

/* Removing a dead entry does not make a wait lose the events of other descriptors. */
XT_TEST(hazard_02_ready_one_is_told_by_every_wait_beside_a_dead_one)
{
	for (int i = 0; i < 2; i++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair dead = xt_socketpair(SOCK_STREAM);
		struct xt_pair ready = xt_socketpair(SOCK_STREAM);

		if (i)
			(void)xpoll_fd(queue);
		(void)xt_dup(dead.r);
		XT_OK(xt_add(queue, dead.r, READ, 0));
		XT_OK(xt_add(queue, ready.r, READ, 0));
		xt_close(dead.w);
		xt_close(ready.w);
		XT_OK(xt_flag(queue, (uint64_t)dead.r, READ, XPOLL_DISABLE));
		xt_close(dead.r);
		for (int k = 0; k < 100; k++) {
			struct xpoll_event events[4];

			XT_EQ(xpoll_event(queue, NULL, 0, events, 4, 0), 1);
			XT_EQ(events[0].ident, ready.r);
		}
		xt_destroy(queue);
	}
}
