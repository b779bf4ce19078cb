/*
 * Goal: ADD and DELETE of a descriptor that was reused for another file, by
 * close(2) and open(2) or by dup2(2), without a call of the library: the old
 * file's registrations are gone, and the new file's begin without their state
 * (S1, S2, S7, hazard 1).
 * Method: every mode, enabled and disabled, with one and two filters, on every
 * back end; cases that fstat(2) cannot distinguish are documented, and tested
 * here, too.
 */
#include "xt.h"

#ifdef __linux__
#include <sys/eventfd.h>
#endif

/* Make the descriptor of the old pair refer to the new one, without a call of the library. */
static void reuse(struct xt_pair old, struct xt_pair new, bool by_dup)
{
	if (!by_dup)
		xt_close(old.r);
	xt_number(new.r, old.r);
}

/*
 * Hazard 1: ADD on a reused number discards all of the old file's filters.
 * Complaint: The library's table is out of date: adding fails.
 */
XT_TEST(hazard_01_add_on_reused_number_starts_clean)
{
	static const int modes[] = {XPOLL_CLEAR, XPOLL_ONESHOT, XPOLL_DISPATCH,
	                            0};

	if (!xt_add_sees_reuse())
		XT_SKIP("this back end cannot tell a reopened number (S7)");
	for (int i = 0; i < 16; i++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair old = xt_socketpair(SOCK_STREAM);
		struct xt_pair new = xt_socketpair(SOCK_STREAM);
		int disable = i & 4 ? XPOLL_DISABLE : 0;
		uint64_t ident = (uint64_t)old.r;
		struct xpoll_event now;

		XT_OK(xt_add(queue, old.r, WRITE, modes[i % 4]));
		XT_OK(xt_add(queue, old.r, READ, modes[i % 4] | disable));
		reuse(old, new, i & 8);
		XT_OK(xt_add(queue, (int)ident, READ, 0));
		XT_FAILS(xpoll_lookup(queue, ident, WRITE, &now), ENOENT);
		XT_EQ(xpoll_lookup(queue, ident, READ, &now), 0);
		XT_EXPECT_EQ(now.flags, 0);
		XT_NONE(queue);
		xt_put(new.w);
		XT_GETS(queue, NULL, ident, READ);
		XT_GETS(queue, NULL, ident, READ);
		xt_destroy(queue);
	}
}

/* The same for the poll-like level's ADD. */
XT_TEST(hazard_01_ctl_add_on_reused_number_starts_clean)
{
	if (!xt_add_sees_reuse())
		XT_SKIP("this back end cannot tell a reopened number (S7)");
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair old = xt_socketpair(SOCK_STREAM);
	struct xt_pair new = xt_socketpair(SOCK_STREAM);
	struct xpoll_event now;

	XT_OK(xt_add(queue, old.r, READ, XPOLL_ONESHOT));
	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLOUT, old.r, &old), 0);
	xt_number(new.r, old.r);
	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, old.r, &new), 0);
	XT_FAILS(xpoll_lookup(queue, (uint64_t)old.r, WRITE, &now), ENOENT);
	XT_EQ(xpoll_lookup(queue, (uint64_t)old.r, READ, &now), 0);
	XT_EXPECT_EQ(now.flags, 0);
	XT_EXPECT(now.udata == &new);
}

/*
 * Returns true if READ could be brought to where the queue checks it itself: by a report while it
 * was disabled.
 */
static bool toggle(struct xpoll *queue, struct xt_pair pair)
{
	struct xpoll_event event;

	return XT_EXPECT_STATUS(xt_flag(queue, (uint64_t)pair.r, READ, XPOLL_DISABLE), 0) &&
		(xt_put(pair.w), XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0)) &&
		XT_EXPECT_STATUS(xt_flag(queue, (uint64_t)pair.r, READ, XPOLL_ENABLE), 0);
}

/*
 * S7: the next wait checks a delivered descriptor by poll(2), but by then the descriptor was reused
 * for a ready file, which is not registered: no event may come.
 */
static void delivered_then_reused(bool poll_level, bool write_beside, bool by_dup)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair old = xt_socketpair(SOCK_STREAM);
	struct xt_pair new = xt_socketpair(SOCK_STREAM);
	uint64_t ident = (uint64_t)old.r;

	XT_OK(xt_add(queue, old.r, READ, 0));
	if (write_beside)
		XT_OK(xt_add(queue, old.r, WRITE, XPOLL_DISABLE));
	XT_CHECK(toggle(queue, old));
	if (poll_level) {
		XT_EQ(xpoll_wait(queue, -1), 1);
		XT_EQ(xpoll_revents(queue, NULL), POLLIN);
	} else {
		XT_GETS(queue, NULL, ident, READ);
	}
	xt_put(new.w);
	reuse(old, new, by_dup);
	if (poll_level) {
		XT_EQ(xpoll_wait(queue, 0), 0);
		XT_EQ(xpoll_wait(queue, 0), 0);
	} else {
		XT_NONE(queue);
		XT_NONE(queue);
	}
	/* A registration of the new file is not affected by the old one. */
	XT_OK(xt_add(queue, (int)ident, READ, 0));
	XT_GETS(queue, NULL, ident, READ);
}

XT_TEST(hazard_01_delivered_one_whose_number_is_reused_is_silent)
{
	if (!xt_sees_reuse())
		XT_SKIP("this back end cannot tell a reopened number (S7)");
	for (int i = 0; i < 8; i++)
		XT_CALL(delivered_then_reused(i & 1, i & 2, i & 4));
}

/* S7: a hang-up that xpoll_event does not report, and then a file with a hang-up at its number. */
XT_TEST(hazard_01_hang_up_without_event_whose_number_is_reused_is_silent)
{
	XT_NEEDS_EXCEPT();
	if (!xt_sees_reuse())
		XT_SKIP("this back end cannot tell a reopened number (S7)");
	if (xt_is("afd"))
		XT_SKIP(XT_NO_UNIX);
	for (int i = 0; i < 2; i++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair old = xt_socketpair(SOCK_STREAM);
		struct xt_pair new = xt_socketpair(SOCK_STREAM);

		xt_close(old.w);
		xt_close(new.w);
		XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLPRI, old.r, NULL), 0);
		XT_NONE(queue);
		reuse(old, new, i);
		XT_EQ(xpoll_wait(queue, 0), 0);
		XT_EQ(xpoll_wait(queue, 0), 0);
		xt_destroy(queue);
	}
}

/*
 * S7: an event had no room in the array, and before the next wait the descriptor was reused for a
 * ready file.
 */
static void without_room_then_reused(int modes, bool by_dup)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair old = xt_socketpair(SOCK_STREAM);
	struct xt_pair new = xt_socketpair(SOCK_STREAM);
	struct xpoll_event event;

	XT_OK(xt_add(queue, old.r, READ, modes));
	XT_OK(xt_add(queue, old.r, WRITE, modes));
	xt_put(old.w);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	xt_put(new.w);
	reuse(old, new, by_dup);
	XT_NONE(queue);
	XT_NONE(queue);
}

XT_TEST(hazard_01_event_without_room_whose_number_is_reused_is_silent)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_DISPATCH, XPOLL_ONESHOT};

	if (!xt_sees_reuse())
		XT_SKIP("this back end cannot tell a reopened number (S7)");
	for (int i = 0; i < 8; i++)
		XT_CALL(without_room_then_reused(modes[i / 2], i & 1));
}

/*
 * S1: the file's descriptor was closed, its registration removed, and dup2(2) makes the descriptor
 * refer to the same file again.  A kernel that has kept the old entry returns EEXIST for the ADD.
 */
static void back_at_its_number(int modes, bool poll_level)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	int copy = xt_dup(pair.r);
	uint64_t ident = (uint64_t)pair.r;

	XT_OK(xt_add(queue, pair.r, READ, modes));
	xt_close(pair.r);
	XT_STATUS(xt_flag(queue, ident, READ, XPOLL_DELETE), EBADF);
	XT_NONE(queue);
	xt_number(copy, (int)ident);
	if (poll_level)
		XT_EQ(xpoll_ctl(queue, XPOLL_ADD | modes, POLLIN, (int)ident, NULL), 0);
	else
		XT_OK(xt_add(queue, (int)ident, READ, modes));
	XT_NONE(queue);
	xt_put(pair.w);
	XT_GETS(queue, NULL, ident, READ);
	XT_EQ(xt_get((int)ident), 'x');
	XT_NONE(queue);
	if (!(modes & XPOLL_ONESHOT))
		XT_OK(xt_flag(queue, ident, READ, XPOLL_DELETE));
	xt_put(pair.w);
	XT_NONE(queue);
}

XT_TEST(hazard_01_add_of_a_file_that_is_back_at_its_number)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_ONESHOT, XPOLL_DISPATCH};

	for (int i = 0; i < 8; i++)
		XT_CALL(back_at_its_number(modes[i % 4], i >= 4));
}

/* S2: DELETE detects the reuse, for all registered filters or for some. */
XT_TEST(hazard_01_delete_on_reused_number_is_enoent)
{
	if (!xt_add_sees_reuse())
		XT_SKIP("this back end cannot tell a reopened number (S7)");
	for (int i = 0; i < 8; i++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair old = xt_socketpair(SOCK_STREAM);
		struct xt_pair new = xt_socketpair(SOCK_STREAM);
		int modes = i & 1 ? XPOLL_CLEAR : 0;
		uint64_t ident = (uint64_t)old.r;
		struct xpoll_event now;

		XT_OK(xt_add(queue, old.r, READ, modes));
		if (i & 4)
			XT_OK(xt_add(queue, old.r, WRITE, modes));
		reuse(old, new, i & 2);
		int rc = xt_flag(queue, ident, READ, XPOLL_DELETE);
		XT_EXPECT_STATUS(rc, ENOENT);
		XT_EXPECT_FAILS(xpoll_lookup(queue, ident, WRITE, &now), ENOENT);
		XT_NONE(queue);
		xt_destroy(queue);
	}
}

/*
 * S7: an edge-triggered filter beside a level-triggered one, whose number is one of a regular file
 * now, which epoll refuses with EPERM: the program gets ENOENT, where the reuse is detected.
 */
XT_TEST(enable_on_a_number_of_a_regular_file_is_not_eperm)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair old = xt_socketpair(SOCK_STREAM);
	int rc;

	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLOUT, old.r, NULL), 0);
	XT_EQ(xpoll_ctl(queue, XPOLL_ADD | XPOLL_CLEAR, POLLIN, old.r, NULL), 0);
	xt_number(xt_file("text"), old.r);
	rc = xpoll_ctl(queue, XPOLL_ENABLE, POLLIN, old.r, NULL);
	XT_EXPECT(rc == 0 || errno == ENOENT);
}

#ifdef __linux__
/*
 * All eventfds share one inode.  For an edge-triggered filter the kernel's set detects the reuse;
 * for a level-triggered one the back end's array takes the new file for the old one.
 */
XT_TEST(hazard_01_add_on_a_reused_number_of_an_eventfd)
{
	if (!xt_add_sees_reuse())
		XT_SKIP("this back end cannot tell a reopened number (S7)");
	if (xt_has_kqueue() && !xt_is("kqueue"))
		XT_SKIP("only Linux has such a file");
	for (int i = 0; i < 2; i++) {
		struct xpoll *queue = xt_open_quiet();
		int old = xt_keep(eventfd(0, EFD_CLOEXEC));
		int new = xt_keep(eventfd(1, EFD_CLOEXEC));
		struct xpoll_event now;

		XT_OK(xt_add(queue, old, READ, i ? XPOLL_DISPATCH : XPOLL_CLEAR));
		xt_number(new, old);
		XT_OK(xt_add(queue, old, READ, 0));
		XT_EQ(xpoll_lookup(queue, (uint64_t)old, READ, &now), 0);
		if (i == 0 || xt_sees_reuse())
			XT_EXPECT_EQ(now.flags, 0);
		XT_GETS(queue, NULL, old, READ);
		xt_destroy(queue);
	}
}
#endif
