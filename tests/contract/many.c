/*
 * Goal: 20000 descriptors in one queue (S11, S13): all are registered,
 * delivered, disabled, enabled and deleted; select works beyond FD_SETSIZE or
 * refuses such a descriptor, and never writes beyond its sets.
 * Method: as many pipes as the limit on open files allows, up to 10000.
 */
#include "xt.h"

#include <sys/select.h>

enum { WANTED = 20000, SPARE = 100, SLOTS = 64 };

static int ends_possible(void)
{
	int files = xt_raise_files(WANTED + SPARE);

	return (files < WANTED + SPARE ? files - SPARE : WANTED) & ~1;
}

/* Register both ends of count / 2 pipes.  Returns the number of accepted registrations. */
static int register_all(struct xpoll *queue, struct xt_pair *pipes, int count,
                        int mode)
{
	int accepted = 0;

	for (int i = 0; i < count / 2; i++) {
		int in = xt_add(queue, pipes[i].r, READ, mode);
		int out = xt_add(queue, pipes[i].w, WRITE, mode);

		if (pipes[i].r < FD_SETSIZE || !xt_is("select"))
			(void)XT_EXPECT_STATUS(in, 0);
		if (pipes[i].w < FD_SETSIZE || !xt_is("select"))
			(void)XT_EXPECT_STATUS(out, 0);
		accepted += (in == 0) + (out == 0);
		if (xt_failures())
			break;
	}
	return accepted;
}

/* Take all events, of which each registration has exactly one. */
static void take_all(struct xpoll *queue, unsigned char *seen, int cap,
                     int expected)
{
	struct xpoll_event events[SLOTS];
	int got = 0;

	memset(seen, 0, (size_t)cap);
	while (got < expected) {
		int count = xpoll_event(queue, NULL, 0, events, SLOTS, XT_SOON);

		XT_CHECK(count > 0);
		got += count;
		for (int i = 0; i < count; i++) {
			XT_CHECK(events[i].ident < (uint64_t)cap);
			XT_CHECK(!seen[events[i].ident]);
			seen[events[i].ident] = 1;
		}
	}
	XT_EQ(xpoll_event(queue, NULL, 0, events, SLOTS, 0), 0);
}

static void with_all(struct xt_pair *pipes, unsigned char *seen, int count)
{
	struct xpoll *queue = xt_open_quiet();
	int cap = count + 2 * SPARE;
	int accepted = register_all(queue, pipes, count, XPOLL_DISPATCH);

	XT_CHECK(!xt_failures());
	XT_CALL(take_all(queue, seen, cap, accepted / 2));
	for (int i = 0; i < count / 2; i++)
		xt_put(pipes[i].w);
	XT_CALL(take_all(queue, seen, cap, accepted / 2));
	/* Enable the write ends, and the read ends again. */
	for (int i = 0; i < count / 2; i++) {
		int in = xt_flag(queue, (uint64_t)pipes[i].r, READ,
		                 XPOLL_ENABLE);
		int out = xt_flag(queue, (uint64_t)pipes[i].w, WRITE,
		                  XPOLL_ENABLE);

		XT_CHECK((in == 0 && out == 0) || xt_is("select"));
	}
	XT_CALL(take_all(queue, seen, cap, accepted));
	XT_EQ(xt_stats(queue).registered, accepted);
	for (int i = 0; i < count / 2; i++) {
		int in = xt_flag(queue, (uint64_t)pipes[i].r, READ,
		                 XPOLL_DELETE);

		XT_CHECK(in == 0 || xt_is("select"));
	}
	xt_note("%d descriptors, %d accepted", count, accepted);
}

XT_TEST(many_20000_descriptors_all_come_once)
{
	int count = ends_possible();
	struct xt_pair *pipes = calloc((size_t)count, sizeof *pipes);
	unsigned char *seen = calloc((size_t)count + 2 * SPARE, 1);

	XT_CHECK(pipes && seen);
	xt_watchdog(120);
	if (count < WANTED)
		xt_note("the limit on open files allows only %d", count);
	for (int i = 0; i < count / 2; i++)
		pipes[i] = xt_pipe();
	with_all(pipes, seen, count);
	free(pipes);
	free(seen);
}

/*
 * One descriptor with a number far above all others must not cost much memory, or be refused with
 * an error.
 */
XT_TEST(many_one_high_number_works_or_is_refused)
{
	int files = xt_raise_files(WANTED + SPARE);
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xt_pair low = xt_pipe();
	int number = files - 1;

	xt_number(pipe.r, number);
	XT_OK(xt_add(queue, low.r, READ, 0));
	int rc = xt_add(queue, number, READ, 0);
	if (rc != 0 && xt_is("select")) {
		XT_EXPECT(rc == EINVAL || rc == ENOTSUP || rc == EMFILE);
		xt_put(low.w);
		XT_GETS(queue, NULL, low.r, READ);
		return;
	}
	XT_OK(rc);
	XT_NONE(queue);
	xt_put(pipe.w);
	XT_GETS(queue, NULL, number, READ);
	XT_EQ(xpoll_close_fd(number), 0);
	XT_NONE(queue);
	xt_put(low.w);
	XT_GETS(queue, NULL, low.r, READ);
}

/* Descriptors just below and above FD_SETSIZE work or are refused. */
XT_TEST(many_numbers_around_fd_setsize_work_or_are_refused)
{
	struct xpoll *queue = xt_open();

	if (xt_raise_files(FD_SETSIZE + 200) < FD_SETSIZE + 200)
		XT_SKIP("too few descriptors allowed");
	for (int number = FD_SETSIZE - 3; number < FD_SETSIZE + 70; number++) {
		struct xt_pair pair = xt_socketpair(SOCK_STREAM);

		xt_number(pair.r, number);
		xt_put(pair.w);
		int rc = xt_add(queue, number, READ, XPOLL_DISPATCH);
		if (rc != 0 && xt_is("select") && number >= FD_SETSIZE)
			continue;
		XT_OK(rc);
		XT_GETS(queue, NULL, number, READ);
		XT_NONE(queue);
		xt_close(pair.w);
		if (number % 2)
			XT_EQ(xpoll_close_fd(number), 0);
	}
	XT_NONE(queue);
}
