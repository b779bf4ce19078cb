/*
 * Goal: xpoll_pwait: one record for each ready descriptor, in the caller's array, for any number of
 * threads; modes that act at once; XPOLL_WHOLE; EBUSY for the other level (S17).
 * Method: each sentence of the manual page, on pipes and sockets; poll(2) is the oracle.
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

XT_TEST(record_has_descriptor_bits_and_data_of_the_first_direction)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_ready_pair();
	struct xpoll_ready ready[2];
	int in, out;

	XT_EQ(add(queue, 0, POLLOUT, pair.r, &out), 0);
	XT_EQ(xpoll_pwait(queue, ready, 2, -1, NULL), 1);
	XT_EXPECT((int)ready[0].fd == pair.r && ready[0].data == &out);
	XT_EXPECT_EQ(ready[0].events, POLLOUT);
	XT_EQ(add(queue, 0, POLLIN, pair.r, &in), 0);
	for (int i = 0; i < 5; i++) {
		XT_EQ(xpoll_pwait(queue, ready, 2, -1, NULL), 1);
		XT_EXPECT(ready[0].data == &in);
		XT_EXPECT_EQ(ready[0].events, POLLIN | POLLOUT);
	}
}

XT_TEST(data_has_64_bits)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_ready_pair();
	struct xpoll_event change;
	struct xpoll_ready ready;
	const uint64_t data = UINT64_C(0xfedcba9876543210);

	(void)xpoll_set(&change, (uint64_t)pair.r, READ, XPOLL_ADD, 0, 0, NULL);
	change.udata64 = data;
	XT_EQ(xpoll_event(queue, &change, 1, NULL, 0, 0), 0);
	XT_EQ(xpoll_pwait(queue, &ready, 1, -1, NULL), 1);
	XT_EXPECT(ready.data64 == data);
}

/* S10: modes act during the call, not when the program reads the record. */
XT_TEST(modes_act_before_the_call_returns)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_ready_pair();
	struct xpoll_event now;
	uint64_t ident = (uint64_t)pair.r;

	XT_EQ(add(queue, XPOLL_DISPATCH, POLLIN, pair.r, NULL), 0);
	XT_EQ(add(queue, XPOLL_ONESHOT, POLLOUT, pair.r, NULL), 0);
	XT_CHECK(came(queue, pair.r, POLLIN | POLLOUT));
	XT_FAILS(xpoll_lookup(queue, ident, WRITE, &now), ENOENT);
	XT_EQ(xpoll_lookup(queue, ident, READ, &now), 0);
	XT_EXPECT_EQ(now.flags, XPOLL_DISPATCH | XPOLL_DISABLE);
	XT_CHECK(came(queue, pair.r, 0));
	XT_EQ(xpoll_ctl(queue, XPOLL_ENABLE, POLLIN, pair.r, NULL), 0);
	XT_CHECK(came(queue, pair.r, POLLIN));
}

/*
 * The wait's own check finds one direction, and the kernel reports the other: one record has both,
 * with the data of READ, and each mode acts.
 */
static void both_ways(int modes)
{
	struct xpoll *queue = xt_open_flags(XPOLL_ALL_READY);

	for (int i = 0; i < 8; i++) {
		struct xt_pair pair = xt_socketpair(SOCK_STREAM);
		int both = POLLIN | POLLOUT, one = i % 2 ? POLLIN : POLLOUT, in, out;
		struct xpoll_ready ready[2];

		xt_fill(pair.r);
		XT_EQ(add(queue, modes, POLLIN, pair.r, &in), 0);
		XT_EQ(add(queue, modes, POLLOUT, pair.r, &out), 0);
		XT_CHECK(came(queue, pair.r, 0));
		for (int k = 0; k < i; k++) {
			XT_EQ(xpoll_ctl(queue, XPOLL_DISABLE, one, pair.r, NULL), 0);
			XT_CHECK(came(queue, pair.r, 0));
			XT_EQ(xpoll_ctl(queue, XPOLL_ENABLE, one, pair.r, NULL), 0);
		}
		xt_put(pair.w);
		(void)xt_drain(pair.w);
		XT_EQ(xpoll_pwait(queue, ready, 2, 0, NULL), 1);
		XT_EXPECT(ready->events == both && ready->data == &in);
		XT_CHECK(came(queue, pair.r, modes ? 0 : both));
		XT_EQ(xpoll_ctl(queue, XPOLL_DELETE, both, pair.r, NULL), 0);
	}
}

XT_TEST(both_directions_come_with_one_record)
{
	XT_CALL(both_ways(0));
	XT_CALL(both_ways(XPOLL_CLEAR));
	XT_CALL(both_ways(XPOLL_DISPATCH));
	XT_CALL(both_ways(XPOLL_DISPATCH | XPOLL_WHOLE));
}

/* S9: CLEAR is reported once for each activity. */
XT_TEST(clear_is_reported_once_for_each_activity)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();

	XT_EQ(add(queue, XPOLL_CLEAR, POLLIN, pipe.r, NULL), 0);
	for (int i = 0; i < 3; i++) {
		xt_put(pipe.w);
		XT_CHECK(came(queue, pipe.r, POLLIN));
		XT_CHECK(came(queue, pipe.r, 0));
		/* afd reports new data after a read. */
		if (xt_is("afd"))
			XT_EQ(xt_get(pipe.r), 'x');
	}
}

/* With XPOLL_WHOLE one direction is reported, and both stay silent until ENABLE. */
static void whole_dispatch(bool by_events)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xpoll_event event;

	xt_fill(pair.r);
	XT_EQ(add(queue, XPOLL_DISPATCH | XPOLL_WHOLE, POLLIN | POLLOUT, pair.r, NULL), 0);
	XT_CHECK(came(queue, pair.r, 0));
	for (int i = 0; i < 4; i++) {
		xt_put(pair.w);
		if (by_events)
			XT_GETS(queue, &event, pair.r, READ);
		else
			XT_CHECK(came(queue, pair.r, POLLIN));
		(void)xt_drain(pair.w);
		XT_CHECK(came(queue, pair.r, 0));
		XT_EQ(xt_get(pair.r), 'x');
		XT_EQ(xpoll_ctl(queue, XPOLL_ENABLE, POLLIN | POLLOUT, pair.r, NULL), 0);
		XT_CHECK(came(queue, pair.r, POLLOUT));
		xt_fill(pair.r);
		XT_CHECK(came(queue, pair.r, 0));
		XT_EQ(xpoll_ctl(queue, XPOLL_ENABLE, POLLIN | POLLOUT, pair.r, NULL), 0);
		XT_CHECK(came(queue, pair.r, 0));
	}
}

XT_TEST(whole_dispatch_disables_all_directions)
{
	XT_CALL(whole_dispatch(false));
	XT_CALL(whole_dispatch(true));
}

XT_TEST(whole_oneshot_deletes_all_directions)
{
	for (int level = 0; level < 3; level++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair pair = xt_ready_pair();
		struct xpoll_event now;
		uint64_t ident = (uint64_t)pair.r;

		XT_EQ(add(queue, 0, POLLOUT, pair.r, NULL), 0);
		XT_EQ(xpoll_ctl(queue, XPOLL_DISABLE, POLLOUT, pair.r, NULL), 0);
		XT_EQ(add(queue, XPOLL_ONESHOT | XPOLL_WHOLE, POLLIN, pair.r, NULL), 0);
		if (level == 0) {
			XT_CHECK(came(queue, pair.r, POLLIN));
		} else if (level == 1) {
			XT_GETS(queue, NULL, pair.r, READ);
		} else {
			XT_EQ(xpoll_wait(queue, -1), 1);
			XT_EQ(xpoll_revents(queue, NULL), POLLIN);
		}
		XT_FAILS(xpoll_lookup(queue, ident, READ, &now), ENOENT);
		XT_FAILS(xpoll_lookup(queue, ident, WRITE, &now), ENOENT);
		XT_EQ(add(queue, 0, POLLOUT, pair.r, NULL), 0);
		XT_CHECK(came(queue, pair.r, POLLOUT));
		XT_CHECK(came(queue, pair.r, POLLOUT));
	}
}

XT_TEST(whole_without_oneshot_or_dispatch_is_einval)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();

	XT_FAILS(add(queue, XPOLL_WHOLE, POLLIN, pipe.r, NULL), EINVAL);
	XT_FAILS(add(queue, XPOLL_WHOLE | XPOLL_CLEAR, POLLIN, pipe.r, NULL), EINVAL);
	XT_FAILS(xpoll_ctl(queue, XPOLL_ENABLE | XPOLL_WHOLE, POLLIN, pipe.r, NULL), EINVAL);
	XT_STATUS(xt_add(queue, pipe.r, READ, XPOLL_DISPATCH | XPOLL_WHOLE), EINVAL);
}

/* S11: an array is filled with ready descriptors, each once; then come the others. */
XT_TEST(array_of_any_size_is_filled)
{
	enum { PIPES = 600 };
	static const int rooms[] = {1, 7, 256, 257, PIPES, 2 * PIPES};
	static struct xpoll_ready ready[2 * PIPES];
	static int seen[PIPES];
	struct xpoll *queue = xt_open_quiet();

	XT_FILES(2 * PIPES + 100);
	for (int i = 0; i < PIPES; i++) {
		struct xt_pair pipe = xt_pipe();

		xt_put(pipe.w);
		XT_EQ(add(queue, 0, POLLIN, pipe.r, &seen[i]), 0);
	}
	for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
		int expected = rooms[i] < PIPES ? rooms[i] : PIPES;
		int waits = 0, left = PIPES;

		memset(seen, 0, sizeof seen);
		for (; left > 0 && waits < 20 * PIPES; waits++) {
			XT_EQ(xpoll_pwait(queue, ready, rooms[i], 0, NULL), expected);
			for (int k = 0; k < expected; k++)
				left -= (*(int *)ready[k].data)++ == 0;
			/* With room for all, a call returns each descriptor. */
			XT_CHECK(left == 0 || rooms[i] < PIPES);
		}
		XT_EQ(left, 0);
	}
}

XT_TEST(wrong_arguments_are_einval)
{
	struct xpoll *queue = xt_open();
	struct xpoll_ready ready;

	XT_FAILS(xpoll_pwait(NULL, &ready, 1, 0, NULL), EINVAL);
	XT_FAILS(xpoll_pwait(queue, NULL, 1, 0, NULL), EINVAL);
	XT_FAILS(xpoll_pwait(queue, &ready, 0, 0, NULL), EINVAL);
	XT_FAILS(xpoll_pwait(queue, &ready, -1, 0, NULL), EINVAL);
}

/* S15: the timeout is in ns, and never early. */
XT_TEST(timeout_is_in_nanoseconds_and_never_early)
{
	struct xpoll *queue = xt_open();
	struct xpoll_ready ready;
	const int64_t timeout_ns = 2345678;
	int64_t begin = xt_now();

	XT_EQ(xpoll_pwait(queue, &ready, 1, timeout_ns, NULL), 0);
	XT_EXPECT(xt_now() - begin >= timeout_ns);
	XT_EQ(xpoll_wake(queue), 0);
	XT_EQ(xpoll_pwait(queue, &ready, 1, -1, NULL), 0);
}

#ifndef _WIN32
static void handled(int number)
{
	(void)number;
}

/* S15: a signal that only the mask lets in ends the wait. */
XT_TEST(mask_lets_a_pending_signal_in)
{
	struct xpoll *queue = xt_open_quiet();
	struct sigaction action = {.sa_handler = handled}, before;
	struct xpoll_ready ready;
	sigset_t blocked, former;

	(void)sigemptyset(&blocked);
	(void)sigaddset(&blocked, SIGUSR1);
	XT_EQ(sigaction(SIGUSR1, &action, &before), 0);
	XT_EQ(pthread_sigmask(SIG_BLOCK, &blocked, &former), 0);
	XT_EQ(raise(SIGUSR1), 0);
	XT_EXPECT_EQ(xpoll_pwait(queue, &ready, 1, 0, NULL), 0);
	(void)XT_EXPECT_FAILS(xpoll_pwait(queue, &ready, 1, XT_SOON, &former), EINTR);
	XT_EQ(pthread_sigmask(SIG_SETMASK, &former, NULL), 0);
	XT_EQ(sigaction(SIGUSR1, &before, NULL), 0);
}
#endif

/* Events of sources are delivered by the event level only, and stay pending. */
XT_TEST(events_of_sources_wait_for_the_event_level)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();

	XT_EQ(add(queue, 0, POLLIN, pipe.r, NULL), 0);
	XT_OK(xt_flag(queue, 1, USER, XPOLL_ADD | XPOLL_CLEAR));
	XT_OK(xt_trigger(queue, 1));
	XT_CHECK(came(queue, pipe.r, 0));
	xt_put(pipe.w);
	XT_CHECK(came(queue, pipe.r, POLLIN));
	XT_EQ(xt_get(pipe.r), 'x');
	XT_GETS(queue, NULL, 1, USER);
}

struct waiter {
	struct xpoll *queue;
	struct xt_thread *thread;
	struct xpoll_ready ready;
	int rc;
	atomic_int *returned;
};

static void waiter_run(void *argument)
{
	struct waiter *self = argument;

	self->rc = xpoll_pwait(self->queue, &self->ready, 1, -1, NULL);
	atomic_fetch_add(self->returned, 1);
}

enum { WAITERS = 4 };

static void waiters_start(struct waiter *waiters, struct xpoll *queue, atomic_int *returned)
{
	xt_threads_reuse();
	for (int i = 0; i < WAITERS; i++) {
		waiters[i] = (struct waiter){.queue = queue, .returned = returned};
		waiters[i].thread = xt_start(waiter_run, &waiters[i]);
	}
	for (int i = 0; i < WAITERS; i++)
		xt_asleep(waiters[i].thread);
}

/* S17, S10: with as many events as waiting threads each thread gets one. */
XT_TEST(as_many_events_as_waiters_each_gets_one)
{
	struct xpoll *queue = xt_open();
	struct waiter waiters[WAITERS];
	struct xt_pair pipes[WAITERS];
	int seen[WAITERS] = {0};

	for (int i = 0; i < WAITERS; i++) {
		pipes[i] = xt_pipe();
		XT_EQ(add(queue, XPOLL_DISPATCH | XPOLL_WHOLE, POLLIN, pipes[i].r, &seen[i]), 0);
	}
	for (int round = 0; round < 20; round++) {
		atomic_int returned = 0;

		waiters_start(waiters, queue, &returned);
		for (int i = 0; i < WAITERS; i++)
			xt_put(pipes[i].w);
		/* No wake is sent: each thread must be woken by an event. */
		xt_until(&returned, WAITERS);
		for (int i = 0; i < WAITERS; i++) {
			xt_join(waiters[i].thread);
			XT_EQ(waiters[i].rc, 1);
			++*(int *)waiters[i].ready.data;
			XT_EQ(xt_get((int)waiters[i].ready.fd), 'x');
			XT_EQ(xpoll_ctl(queue, XPOLL_ENABLE, POLLIN, waiters[i].ready.fd, NULL), 0);
		}
		for (int i = 0; i < WAITERS; i++)
			XT_EQ(seen[i], round + 1);
	}
}

/* A level-triggered event is also delivered to the other threads. */
XT_TEST(hazard_03_level_holds_every_waiter_has_it)
{
	struct xpoll *queue = xt_open();
	struct waiter waiters[WAITERS];
	struct xt_pair pipe = xt_pipe();
	atomic_int returned = 0;

	XT_EQ(add(queue, 0, POLLIN, pipe.r, NULL), 0);
	waiters_start(waiters, queue, &returned);
	xt_put(pipe.w);
	xt_until(&returned, WAITERS);
	for (int i = 0; i < WAITERS; i++) {
		xt_join(waiters[i].thread);
		XT_EQ(waiters[i].rc, 1);
		XT_EXPECT_EQ(waiters[i].ready.events, POLLIN);
	}
}

XT_TEST(wake_all_ends_every_wait)
{
	struct xpoll *queue = xt_open();
	struct waiter waiters[WAITERS];
	atomic_int returned = 0;

	waiters_start(waiters, queue, &returned);
	for (int i = 0; i < WAITERS; i++) {
		xt_send_home(queue, waiters[i].thread);
		XT_EQ(waiters[i].rc, 0);
	}
}

/* S17: threads may wait at one level at a time only. */
XT_TEST(event_level_is_ebusy_meanwhile_and_the_other_way_round)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_sleeper sleeper = {.queue = queue, .timeout_ns = -1};
	struct waiter waiters[WAITERS];
	struct xpoll_ready ready;
	struct xpoll_event event;
	atomic_int returned = 0;

	for (int round = 0; round < 3; round++) {
		atomic_store(&returned, 0);
		waiters_start(waiters, queue, &returned);
		while (xpoll_event(queue, NULL, 0, &event, 1, 0) == 0)
			(void)poll(NULL, 0, 1);
		XT_EXPECT_EQ(errno, EBUSY);
		XT_EQ(xpoll_pwait(queue, &ready, 1, 0, NULL), 0);
		XT_EQ(xpoll_wait(queue, 0), 0);
		for (int i = 0; i < WAITERS; i++)
			xt_send_home(queue, waiters[i].thread);
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);

		xt_threads_reuse();
		struct xt_thread *thread = xt_start(xt_sleep, &sleeper);
		while (xpoll_pwait(queue, &ready, 1, 0, NULL) == 0)
			(void)poll(NULL, 0, 1);
		XT_EXPECT_EQ(errno, EBUSY);
		XT_FAILS(xpoll_wait(queue, 0), EBUSY);
		XT_FAILS(xpoll_wait(queue, -1), EBUSY);
		xt_send_home(queue, thread);
		XT_EQ(xpoll_pwait(queue, &ready, 1, 0, NULL), 0);
	}
}

#ifndef _WIN32
/* Hazard 20: a cancelled wait is no longer counted. */
XT_TEST(hazard_20_cancelled_waits_are_not_counted)
{
	struct xpoll *queue = xt_open_quiet();
	struct waiter waiters[WAITERS];
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;
	atomic_int returned = 0;

	if (XT_SANITIZED)
		XT_SKIP("a sanitizer loses track of a cancelled thread");
	XT_EQ(add(queue, 0, POLLIN, pipe.r, NULL), 0);
	waiters_start(waiters, queue, &returned);
	for (int i = 0; i < WAITERS; i++)
		XT_EQ(pthread_cancel(xt_pthread(waiters[i].thread)), 0);
	for (int i = 0; i < WAITERS; i++)
		xt_join(waiters[i].thread);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	xt_put(pipe.w);
	XT_CHECK(came(queue, pipe.r, POLLIN));
}
#endif
