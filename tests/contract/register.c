/*
 * Goal: registrations are added, changed and deleted as S1 (ADD also changes),
 * S2 (ENOENT) and S4 (a condition that holds already) say.
 * Method: one pipe or socket pair, one change at a time, and the result of the
 * next wait.
 */
#include "xt.h"

static const int modes[] = {0, XPOLL_CLEAR, XPOLL_ONESHOT, XPOLL_DISPATCH};

#define MODES (sizeof modes / sizeof *modes)

static void *mark(uintptr_t value)
{
	return (void *)value;
}

/* S1: ADD registers a filter. */
XT_TEST(add_new_delivers_when_ready)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	XT_OK(xt_change(queue, (uint64_t)pipe.r, READ, XPOLL_ADD, 0, 0,
	                mark(42)));
	XT_NONE(queue);
	xt_put(pipe.w);
	XT_GETS(queue, &event, pipe.r, READ);
	XT_EXPECT(event.udata == mark(42));
	XT_EXPECT_EQ(event.flags & (XPOLL_EOF | XPOLL_ERROR), 0);
	XT_EXPECT_EQ(event.fflags, 0);
	/* Without NOTE_COUNT it is 1 on every back end. */
	XT_EXPECT_EQ(event.data, 1);
	XT_EQ(xt_get(pipe.r), 'x');
	XT_NONE(queue);
}

/* S1: ADD of an existing registration does not make a second one. */
XT_TEST(add_twice_registers_once)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open();

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	xt_put(pipe.w);
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_DELETE));
	XT_STATUS(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_DELETE), ENOENT);
	XT_NONE(queue);
}

/* S1: ADD replaces udata. */
XT_TEST(add_existing_changes_udata)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	uint64_t ident = (uint64_t)pipe.r;

	XT_OK(xt_change(queue, ident, READ, XPOLL_ADD, 0, 0, mark(1)));
	XT_OK(xt_change(queue, ident, READ, XPOLL_ADD, 0, 0, mark(2)));
	xt_put(pipe.w);
	XT_GETS(queue, &event, pipe.r, READ);
	XT_EXPECT(event.udata == mark(2));
}

/* S1: ADD leaves a disabled filter disabled. */
XT_TEST(add_existing_keeps_disable)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open();

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_DISABLE));
	xt_put(pipe.w);
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_NONE(queue);
	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_ENABLE));
	XT_GETS(queue, NULL, pipe.r, READ);
}

/* S1, S4: ADD checks the condition again, and the filter stays edge-triggered. */
XT_TEST(add_existing_keeps_clear_and_looks_anew)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open();

	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_CLEAR));
	xt_put(pipe.w);
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_NONE(queue);
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_NONE(queue);
}

/* S1: ADD adds mode flags to those of the registration. */
XT_TEST(add_existing_adds_mode_flags)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open();
	struct xpoll_event now;

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_DISPATCH));
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_EQ(xpoll_lookup(queue, (uint64_t)pipe.r, READ, &now), 0);
	XT_EXPECT(now.flags & XPOLL_DISPATCH);
	xt_put(pipe.w);
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_NONE(queue);
}

/* S1: the poll-like XPOLL_ADD is ADD|ENABLE. */
XT_TEST(ctl_add_enables_a_disabled_one)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open();

	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_DISABLE));
	xt_put(pipe.w);
	XT_NONE(queue);
	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, pipe.r, NULL), 0);
	XT_GETS(queue, NULL, pipe.r, READ);
}

/* S1: an ADD after DELETE makes a registration without the old state. */
XT_TEST(delete_and_add_starts_clean)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open();
	struct xpoll_event now;
	uint64_t ident = (uint64_t)pipe.r;

	XT_OK(xt_change(queue, ident, READ,
	                XPOLL_ADD | XPOLL_CLEAR | XPOLL_DISPATCH |
	                    XPOLL_DISABLE,
	                0, 0, mark(1)));
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DELETE));
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_EQ(xpoll_lookup(queue, ident, READ, &now), 0);
	XT_EXPECT_EQ(now.flags & (XPOLL_CLEAR | XPOLL_DISPATCH | XPOLL_DISABLE),
	             0);
	XT_EXPECT(now.udata == NULL);
	xt_put(pipe.w);
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_GETS(queue, NULL, pipe.r, READ);
}

/* S1: changes of one filter do not affect the others of the descriptor. */
XT_TEST(filters_of_one_descriptor_are_independent)
{
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xpoll *queue = xt_open();
	struct xpoll_event events[8];
	uint64_t ident = (uint64_t)pair.r;

	XT_OK(xt_change(queue, ident, READ, XPOLL_ADD, 0, 0, mark(1)));
	XT_OK(xt_change(queue, ident, WRITE, XPOLL_ADD, 0, 0, mark(2)));
	xt_put(pair.w);
	XT_EQ(xt_take(queue, events, 8, XT_SOON), 2);
	int reads = xt_find(events, 2, ident, READ);
	int writes = xt_find(events, 2, ident, WRITE);
	XT_CHECK(reads >= 0 && writes >= 0);
	XT_EXPECT(events[reads].udata == mark(1));
	XT_EXPECT(events[writes].udata == mark(2));
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
	XT_GETS(queue, NULL, ident, WRITE);
	XT_OK(xt_flag(queue, ident, WRITE, XPOLL_DELETE));
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	XT_GETS(queue, NULL, ident, READ);
	XT_STATUS(xt_flag(queue, ident, WRITE, XPOLL_ENABLE), ENOENT);
}

/* S2: a change of a registration that does not exist fails with ENOENT. */
XT_TEST(change_of_absent_is_enoent)
{
	static const int filters[] = {READ, WRITE, EXCEPT, USER};
	static const int flags[] = {XPOLL_DELETE, XPOLL_ENABLE, XPOLL_DISABLE};
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 3; j++)
			XT_STATUS(xt_flag(queue, (uint64_t)pair.r, filters[i],
			                  flags[j]),
			          ENOENT);
	XT_STATUS(xt_trigger(queue, 7), ENOENT);
	XT_NONE(queue);
}

/* S2: another filter of the same descriptor does not count as the registration. */
XT_TEST(change_of_absent_filter_is_enoent)
{
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xpoll *queue = xt_open();
	uint64_t ident = (uint64_t)pair.r;

	XT_OK(xt_add(queue, pair.r, READ, 0));
	XT_STATUS(xt_flag(queue, ident, WRITE, XPOLL_DELETE), ENOENT);
	XT_STATUS(xt_flag(queue, ident, WRITE, XPOLL_ENABLE), ENOENT);
	XT_STATUS(xt_flag(queue, ident, EXCEPT, XPOLL_DISABLE), ENOENT);
	XT_STATUS(xt_flag(queue, ident, USER, XPOLL_DELETE), ENOENT);
	xt_put(pair.w);
	XT_GETS(queue, NULL, ident, READ);
}

/* S4: ADD of a readable descriptor: the next wait delivers it. */
XT_TEST(add_when_readable_next_wait_delivers)
{
	struct xpoll *queue = xt_open();

	for (size_t i = 0; i < MODES; i++) {
		struct xt_pair pipe = xt_pipe();

		xt_put(pipe.w);
		XT_OK(xt_add(queue, pipe.r, READ, modes[i]));
		XT_GETS(queue, NULL, pipe.r, READ);
		(void)xt_drain(pipe.r);
		XT_NONE(queue);
	}
}

/* S4: the same for a writable descriptor */
XT_TEST(add_when_writable_next_wait_delivers)
{
	struct xpoll *queue = xt_open();

	for (size_t i = 0; i < MODES; i++) {
		struct xt_pair pipe = xt_pipe();

		XT_OK(xt_add(queue, pipe.w, WRITE, modes[i]));
		XT_GETS(queue, NULL, pipe.w, WRITE);
		xt_fill(pipe.w);
		XT_NONE(queue);
	}
}

/* S4, S3: the same for ENABLE */
XT_TEST(enable_when_ready_next_wait_delivers)
{
	struct xpoll *queue = xt_open();

	for (size_t i = 0; i < MODES; i++) {
		struct xt_pair pipe = xt_pipe();
		uint64_t ident = (uint64_t)pipe.r;

		XT_OK(xt_add(queue, pipe.r, READ, modes[i] | XPOLL_DISABLE));
		xt_put(pipe.w);
		XT_NONE(queue);
		XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
		XT_GETS(queue, NULL, pipe.r, READ);
		(void)xt_drain(pipe.r);
		XT_NONE(queue);
	}
}

/* S5: changes are made before the events of the same call are collected. */
XT_TEST(add_and_wait_in_one_call_delivers)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event change = xt_record((uint64_t)pipe.r, READ, XPOLL_ADD);
	struct xpoll_event event;

	xt_put(pipe.w);
	XT_EQ(xpoll_event(queue, &change, 1, &event, 1, -1), 1);
	XT_EXPECT_EQ(event.ident, pipe.r);
	XT_EXPECT_EQ(event.filter, READ);
}

/* S1: both ends of a pipe and a duplicate are three separate registrations. */
XT_TEST(add_duplicate_is_its_own_registration)
{
	struct xt_pair pipe = xt_pipe();
	int copy = xt_dup(pipe.r);
	struct xpoll *queue = xt_open();
	struct xpoll_event events[8];

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_OK(xt_add(queue, copy, READ, 0));
	xt_put(pipe.w);
	XT_EQ(xt_take(queue, events, 8, XT_SOON), 2);
	XT_EXPECT(xt_find(events, 2, (uint64_t)pipe.r, READ) >= 0);
	XT_EXPECT(xt_find(events, 2, (uint64_t)copy, READ) >= 0);
	XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_DELETE));
	XT_GETS(queue, NULL, copy, READ);
}

/* S2: many changes, so that the library also checks the filter itself */
XT_TEST(enable_disable_many_turns_always_agrees)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open();
	uint64_t ident = (uint64_t)pipe.r;

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	for (int i = 0; i < 200; i++) {
		XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
		if (i % 3 == 0)
			xt_put(pipe.w);
		if (i % 8 == 0)
			XT_NONE(queue);
		XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
		if (i % 3 != 0)
			continue;
		XT_GETS(queue, NULL, ident, READ);
		XT_EQ(xt_get(pipe.r), 'x');
		if (i % 4 == 0)
			XT_NONE(queue);
	}
}

/* A program that forgets to set a field passes 0, which is a valid descriptor. */
XT_TEST(number_0_is_a_descriptor_like_any_other)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();

	xt_number(pipe.r, 0);
	XT_OK(xt_add(queue, 0, READ, 0));
	XT_NONE(queue);
	xt_put(pipe.w);
	XT_GETS(queue, NULL, 0, READ);
	XT_OK(xt_flag(queue, 0, READ, XPOLL_DELETE));
	XT_NONE(queue);
}

static int status_by_receipt(struct xpoll *queue, int fd, int filter, int flags)
{
	struct xpoll_event status;
	struct xpoll_event change =
		xt_record((uint64_t)fd, filter, flags | XPOLL_RECEIPT);

	return xpoll_event(queue, &change, 1, &status, 1, 0) == 1
		? (int)status.data : -1;
}

/*
 * With a receipt a change takes another path through the library than the usual one, with the same
 * result.
 */
XT_TEST(add_and_delete_answer_alike_with_a_receipt)
{
	const int steps[] = {XPOLL_ADD, XPOLL_ADD, XPOLL_DELETE, XPOLL_DELETE,
	                     XPOLL_ADD | XPOLL_CLEAR, XPOLL_DELETE};
	struct xt_pair pipe = xt_pipe();
	struct xpoll *usual = xt_open(), *other = xt_open();
	int fds[] = {pipe.r, pipe.w, xt_file("x"), 900};

	for (int i = 0; i < 8; i++) {
		int fd = fds[i / 2], filter = i % 2 ? WRITE : READ;

		for (size_t j = 0; j < sizeof steps / sizeof *steps; j++) {
			int status = xt_flag(usual, (uint64_t)fd, filter,
			                     steps[j]);

			if (!XT_EXPECT_STATUS(status_by_receipt(other, fd, filter,
			                                        steps[j]), status))
				xt_note("flags 0x%x, %s of %d", (unsigned)steps[j],
				        xt_filter_name(filter), fd);
		}
	}
	XT_OK(xt_add(usual, pipe.r, READ, 0));
	XT_STATUS(xt_add(usual, 900, READ, 0), EBADF);
}

/*
 * S4, also if a wait can return without calling the kernel, because it has another event: that of a
 * descriptor which was delivered before and is enabled again.
 */
static void comes_beside_an_enabled_one(int flags, int late, int usual)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair busy = xt_socketpair(SOCK_STREAM);
	struct xt_pair other = xt_socketpair(SOCK_STREAM);
	uint64_t first = (uint64_t)busy.r;
	struct xpoll_event events[4];
	int count;

	xt_put(busy.w);
	xt_put(other.w);
	XT_OK(xt_add(queue, busy.r, READ, usual));
	if (late)
		XT_OK(xt_add(queue, other.r, READ, flags | XPOLL_DISABLE));
	for (int i = 0; i < 6; i++) {
		XT_OK(xt_flag(queue, first, READ, XPOLL_DISABLE));
		XT_OK(xt_flag(queue, first, READ, XPOLL_ENABLE));
		XT_EQ(xpoll_event(queue, NULL, 0, events, 4, 0), 1);
	}
	XT_OK(xt_flag(queue, first, READ, XPOLL_DISABLE));
	XT_OK(xt_flag(queue, first, READ, XPOLL_ENABLE));
	if (late)
		XT_OK(xt_flag(queue, (uint64_t)other.r, READ, XPOLL_ENABLE));
	else
		XT_OK(xt_add(queue, other.r, READ, flags));
	count = xpoll_event(queue, NULL, 0, events, 4, 0);
	XT_CHECK(xt_find(events, count, (uint64_t)other.r, READ) >= 0);
	/*
	 * The kernel of this kqueue is the library itself, which makes no change for DISABLE and
	 * ENABLE.
	 */
	XT_CHECK(count == 2 || xt_is("kqueue"));
	xt_destroy(queue);
	xt_shut(busy);
	xt_shut(other);
}

XT_TEST(what_holds_comes_with_the_next_wait_beside_an_enabled_one)
{
	static const int ways[] = {0, XPOLL_CLEAR, XPOLL_ONESHOT, XPOLL_DISPATCH};

	for (int i = 0; i < 32; i++)
		XT_CALL(comes_beside_an_enabled_one(ways[i / 2 % 4], i % 2,
		                                    ways[i / 8] & ~XPOLL_ONESHOT));
}
