/*
 * Goal: an epoll descriptor works with close, dup, fcntl, poll, select, fork,
 * and inside other sets; and a registered descriptor may be closed.
 * Method: each is done with a set that has a pipe in it, and then events of the
 * set are read.
 */
#include <sys/select.h>
#include <sys/wait.h>

#include "kit.h"

XT_TEST(duplicates_are_the_same_set)
{
	int set = epoll_create1(0);
	struct xt_pair pipe = xt_pipe();
	int copies[5];

	XT_OK(kit_add(set, pipe.r, EPOLLIN));
	copies[0] = dup(set);
	copies[1] = fcntl(set, F_DUPFD, 50);
	copies[2] = fcntl(set, F_DUPFD_CLOEXEC, 60);
	copies[3] = dup2(set, 70);
	copies[4] = dup3(set, 71, O_CLOEXEC);
	xt_put(pipe.w);
	for (int i = 0; i < 5; i++) {
		KIT_HAS(copies[i], pipe.r, EPOLLIN);
		XT_STATUS(kit_add(copies[i], pipe.r, EPOLLIN), EEXIST);
		XT_STATUS(kit_add(copies[i], set, EPOLLIN), EINVAL);
	}
	xt_close(set);
	for (int i = 0; i < 5; i++) {
		KIT_HAS(copies[i], pipe.r, EPOLLIN);
		xt_close(copies[i]);
		XT_FAILS(epoll_wait(copies[i], &(struct epoll_event){0}, 1, 0), EBADF);
	}
}

XT_TEST(a_replaced_set_has_ended)
{
	int set = kit_open();
	struct xt_pair pipe = xt_pipe();

	XT_EQ(dup2(pipe.r, set), set);
	XT_STATUS(kit_add(set, pipe.r, EPOLLIN), EINVAL);
	xt_put(pipe.w);
	XT_EQ(xt_get(set), 'x');
}

XT_TEST(close_ends_the_registrations_of_the_number)
{
	int set = kit_open(), other = kit_open();
	struct xt_pair pipe = xt_pipe(), next;
	int copy = xt_dup(pipe.r);

	XT_OK(kit_add(set, pipe.r, EPOLLIN));
	XT_OK(kit_add(other, pipe.r, EPOLLIN));
	XT_OK(kit_add(set, copy, EPOLLIN));
	xt_put(pipe.w);
	xt_close(pipe.r);
	KIT_HAS(set, copy, EPOLLIN);
	KIT_NONE(other);
	next = xt_pipe();
	XT_EQ(next.r, pipe.r);
	xt_put(next.w);
	KIT_NONE(other);
	XT_STATUS(kit_mod(set, next.r, EPOLLIN), ENOENT);
	XT_OK(kit_add(set, next.r, EPOLLIN));
	XT_OK(kit_add(other, next.r, EPOLLIN));
	KIT_HAS(other, next.r, EPOLLIN);
#if defined(__linux__) || defined(__FreeBSD__)
	XT_EQ(close_range((unsigned)next.r, (unsigned)next.r, 0), 0);
#else
	XT_EQ(dup2(next.w, next.r), next.r); /* no close_range(2) */
#endif
	KIT_NONE(other);
}

XT_TEST(a_set_is_polled)
{
	int set = kit_open();
	struct xt_pair pipe = xt_pipe();
	struct pollfd look[2] = {{.fd = set, .events = POLLIN | POLLOUT},
	                         {.fd = pipe.w, .events = POLLOUT}};

	XT_OK(kit_add(set, pipe.r, EPOLLIN | EPOLLET));
	XT_EQ(poll(look, 2, 0), 1);
	XT_EQ(look[0].revents, 0);
	xt_put(pipe.w);
	XT_EQ(poll(look, 2, 20000), 2);
	XT_EQ(look[0].revents, POLLIN);
	XT_EQ(poll(look, 1, -1), 1);
	KIT_HAS(set, pipe.r, EPOLLIN);
	XT_EQ(poll(look, 1, 0), 0);
	XT_EQ(poll(look, 1, 3), 0);
	XT_CHECK(!kit_readable(set));
}

static void put_late(void *argument)
{
	struct xt_pair *pipe = argument;

	while (!atomic_load((atomic_int *)&pipe[1].r))
		sched_yield();
	xt_put(pipe->w);
}

XT_TEST(a_poll_that_sleeps_is_woken)
{
	int set = kit_open();
	struct xt_pair pipes[2] = {xt_pipe(), {0, 0}};
	struct pollfd look = {.fd = set, .events = POLLIN};
	struct xt_thread *thread = xt_start(put_late, pipes);

	XT_OK(kit_add(set, pipes[0].r, EPOLLIN));
	atomic_store((atomic_int *)&pipes[1].r, 1);
	XT_EQ(poll(&look, 1, 20000), 1);
	xt_join(thread);
	KIT_HAS(set, pipes[0].r, EPOLLIN);
}

XT_TEST(a_set_is_selected)
{
	int set = kit_open();
	struct xt_pair pipe = xt_pipe();
	struct timeval zero = {0, 0};
	fd_set in, out;

	XT_OK(kit_add(set, pipe.r, EPOLLIN));
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(set, &in);
	FD_SET(set, &out);
	XT_EQ(select(set + 1, &in, &out, NULL, &zero), 0);
	XT_CHECK(!FD_ISSET(set, &in) && !FD_ISSET(set, &out));
	xt_put(pipe.w);
	FD_SET(set, &in);
	XT_EQ(select(set + 1, &in, NULL, NULL, NULL), 1);
	XT_CHECK(FD_ISSET(set, &in));
	XT_EQ(pselect(set + 1, &in, NULL, NULL, NULL, NULL), 1);
}

/*
 * Returns true if the descriptor itself is not readable.  poll(2) of the library would not report a
 * set without an event in any case; a set that has no socket is one of the kernel's queues.
 */
static bool is_silent(int set)
{
	char byte;

	return recv(set, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
}

XT_TEST(a_set_without_an_event_is_silent)
{
	int set = kit_open(), outer = kit_open();
	struct xt_pair pipe = xt_pipe();

	XT_OK(kit_add(set, pipe.r, EPOLLIN));
	XT_OK(kit_add(outer, set, EPOLLIN));
	XT_CHECK(is_silent(set));
	for (int i = 0; i < 3; i++) {
		xt_put(pipe.w);
		KIT_GETS(outer, set, EPOLLIN);
		xt_get(pipe.r);
		KIT_NONE(set);
		XT_CHECK(is_silent(set));
		KIT_NONE(outer);
		xt_put(pipe.w);
		XT_CHECK(kit_readable(set));
		xt_get(pipe.r);
		XT_CHECK(!kit_readable(set));
		XT_CHECK(is_silent(set));
	}
}

XT_TEST(a_wait_after_a_poll_returns_all_that_there_is_room_for)
{
	int set = kit_open();
	struct xt_pair pipes[3];
	struct epoll_event events[3];

	for (int i = 0; i < 3; i++) {
		pipes[i] = xt_pipe();
		XT_OK(kit_add(set, pipes[i].r, EPOLLIN));
		xt_put(pipes[i].w);
	}
	for (int i = 0; i < 12; i++) {
		XT_CHECK(kit_readable(set));
		XT_EQ(epoll_wait(set, events, 2, 0), 2);
		XT_CHECK(events[0].data.u64 != events[1].data.u64);
		XT_EQ(epoll_wait(set, events, 1, 0), 1);
	}
}

XT_TEST(a_one_shot_that_poll_has_found_is_reported_once_after_a_change)
{
	int set = kit_open();
	struct xt_pair pipe = xt_pipe();
	struct epoll_event event;

	XT_OK(kit_add(set, pipe.r, EPOLLIN | EPOLLONESHOT));
	xt_put(pipe.w);
	XT_CHECK(kit_readable(set));
	XT_OK(kit_mod(set, pipe.r, EPOLLIN | EPOLLONESHOT));
	XT_EQ(epoll_wait(set, &event, 1, 0), 1);
	KIT_NONE(set);
}

/*
 * poll(2) finds the one-shot's input, which is read before a wait: nothing was reported, so the
 * one-shot is still armed.
 */
XT_TEST(a_one_shot_that_only_poll_has_found_stays_armed)
{
	int set = kit_open();
	struct xt_pair pipe = xt_pipe();

	XT_OK(kit_add(set, pipe.r, EPOLLIN | EPOLLONESHOT));
	xt_put(pipe.w);
	XT_CHECK(kit_readable(set));
	xt_get(pipe.r);
	KIT_NONE(set);
	xt_put(pipe.w);
	KIT_HAS(set, pipe.r, EPOLLIN);
	KIT_NONE(set);
}

XT_TEST(sets_are_watched_by_sets)
{
	int outer = kit_open(), inner = kit_open();
	struct xt_pair pipe = xt_pipe();

	XT_OK(kit_add(inner, pipe.r, EPOLLIN | EPOLLET));
	XT_OK(kit_add(outer, inner, EPOLLIN));
	KIT_NONE(outer);
	xt_put(pipe.w);
	KIT_GETS(outer, inner, EPOLLIN);
	/* FreeBSD makes a kqueue that contains another one readable with a delay. */
	KIT_GETS(outer, inner, EPOLLIN);
	KIT_HAS(inner, pipe.r, EPOLLIN);
	KIT_NONE(outer);
	KIT_NONE(inner);
	xt_put(pipe.w);
	KIT_HAS(outer, inner, EPOLLIN);
	XT_OK(kit_del(outer, inner));
	KIT_NONE(outer);
	XT_OK(kit_add(outer, inner, EPOLLIN | EPOLLONESHOT));
	KIT_HAS(outer, inner, EPOLLIN);
	KIT_NONE(outer);
	xt_close(inner);
	KIT_NONE(outer);
}

XT_TEST(a_wait_in_an_outer_set_is_woken)
{
	int outer = kit_open(), middle = kit_open(), inner = kit_open();
	struct xt_pair pipes[2] = {xt_pipe(), {0, 0}};
	struct xt_thread *thread = xt_start(put_late, pipes);

	XT_OK(kit_add(inner, pipes[0].r, EPOLLIN));
	XT_OK(kit_add(middle, inner, EPOLLIN));
	XT_OK(kit_add(outer, middle, EPOLLIN));
	KIT_NONE(outer);
	atomic_store((atomic_int *)&pipes[1].r, 1);
	KIT_GETS(outer, middle, EPOLLIN);
	xt_join(thread);
	xt_get(pipes[0].r);
	KIT_NONE(outer);
	KIT_NONE(middle);
}

/*
 * On some back ends the inner set's descriptor becomes readable by input of which no event is
 * requested any more.  That neither ends the wait nor uses up the one-shot.
 */
XT_TEST(an_inner_set_without_an_event_ends_no_wait)
{
	int outer = kit_open(), inner = kit_open();
	struct xt_pair pairs[2] = {xt_socketpair(SOCK_STREAM), {0, 0}}, other = xt_pipe();
	struct xt_thread *thread = xt_start(put_late, pairs);
	struct epoll_event event;

	xt_fill(pairs[0].r);
	XT_OK(kit_add(inner, other.r, EPOLLIN));
	XT_OK(kit_add(inner, pairs[0].r, EPOLLIN | EPOLLOUT));
	XT_OK(kit_mod(inner, pairs[0].r, EPOLLOUT));
	XT_OK(kit_add(outer, inner, EPOLLIN | EPOLLONESHOT));
	atomic_store((atomic_int *)&pairs[1].r, 1);
	XT_EQ(epoll_wait(outer, &event, 1, 100), 0);
	xt_join(thread);
	xt_put(other.w);
	KIT_GETS(outer, inner, EPOLLIN);
}

static void in_child(void *argument)
{
	const int *fds = argument;
	struct xt_pair pipe = xt_pipe();

	/* The registrations were copied to a second set, which is independent from now on. */
	KIT_HAS(fds[0], fds[1], EPOLLIN);
	XT_OK(kit_del(fds[0], fds[1]));
	XT_OK(kit_add(fds[0], pipe.r, EPOLLIN));
	xt_put(pipe.w);
	KIT_HAS(fds[0], pipe.r, EPOLLIN);
	XT_CHECK(kit_readable(fds[0]));
	xt_get(pipe.r);
	XT_CHECK(!kit_readable(fds[0]));
}

XT_TEST(a_forked_child_has_a_set_of_its_own)
{
	int set = kit_open(), outer = kit_open();
	struct xt_pair pipe = xt_pipe();
	int fds[] = {set, pipe.r};

	XT_OK(kit_add(set, pipe.r, EPOLLIN));
	XT_OK(kit_add(outer, set, EPOLLIN));
	xt_put(pipe.w);
	XT_CHECK(xt_child(in_child, fds));
	KIT_HAS(set, pipe.r, EPOLLIN);
	KIT_GETS(outer, set, EPOLLIN);
	xt_get(pipe.r);
	KIT_NONE(set);
	KIT_NONE(outer);
}

static void low_in_child(void *argument)
{
	const int *fds = argument;
	struct xt_pair pipe = xt_pipe();

	XT_OK(kit_add(fds[0], pipe.r, EPOLLIN));
	xt_put(pipe.w);
	for (int i = 0; i < 2; i++) {
		KIT_HAS(fds[i], pipe.r, EPOLLIN);
		XT_CHECK(kit_readable(fds[i]));
	}
}

/*
 * A child does not inherit the parent's kqueue, so the lowest free numbers may be those of
 * duplicates.
 */
XT_TEST(a_forked_child_keeps_duplicates_with_low_numbers)
{
	struct xt_pair low = xt_pipe();
	int set = kit_open(), fds[2];

	xt_close(low.r);
	xt_close(low.w);
	for (int i = 0; i < 2; i++)
		fds[i] = xt_keep(dup(set));
	XT_CHECK(fds[0] < set && fds[1] < set);
	XT_CHECK(xt_child(low_in_child, fds));
}

static void close_only(void *argument)
{
	xt_close(*(int *)argument);
}

XT_TEST(a_close_in_a_child_is_the_childs)
{
	int set = kit_open();
	struct xt_pair pipe = xt_pipe();

	XT_OK(kit_add(set, pipe.r, EPOLLIN));
	XT_CHECK(xt_child(close_only, &set));
	xt_put(pipe.w);
	KIT_HAS(set, pipe.r, EPOLLIN);
}
