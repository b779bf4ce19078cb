/*
 * Goal: several threads may wait on one queue: each event is delivered to one
 * of them, except level-triggered events without DISPATCH, which several may
 * get (S17, hazards 3 and 4).
 * Method: blocked threads and one event; and rounds of a race in which a lost
 * event would make the test hang.
 */
#include "xt.h"

#include <sched.h>

struct waiter {
	struct xpoll *queue;
	struct xt_thread *thread;
	struct xpoll_event event;
	int rc;
	atomic_int *returned;
};

static void waiter_run(void *argument)
{
	struct waiter *self = argument;

	self->rc = xpoll_event(self->queue, NULL, 0, &self->event, 1, -1);
	atomic_fetch_add(self->returned, 1);
}

static void waiters_start(struct waiter *waiters, int count,
                          struct xpoll *queue, atomic_int *returned)
{
	for (int i = 0; i < count; i++) {
		waiters[i].queue = queue;
		waiters[i].returned = returned;
		waiters[i].thread = xt_start(waiter_run, &waiters[i]);
	}
	for (int i = 0; i < count; i++)
		xt_asleep(waiters[i].thread);
}

static void waiters_send_home(struct waiter *waiters, int count)
{
	for (int i = 0; i < count; i++)
		xt_send_home(waiters[i].queue, waiters[i].thread);
}

/* Returns how many of these threads got this event. */
static int waiters_got(const struct waiter *waiters, int count, uint64_t ident)
{
	int got = 0;

	for (int i = 0; i < count; i++)
		got += waiters[i].rc == 1 && waiters[i].event.ident == ident;
	return got;
}

/*
 * S17, S10: exactly one of several waiting threads gets the event.
 * Complaint: Several waiting threads: all wake up, or only one may wait.
 */
XT_TEST(one_event_several_waiters_exactly_one_gets_it)
{
	static const int modes[] = {XPOLL_ONESHOT, XPOLL_DISPATCH,
	                            XPOLL_DISPATCH | XPOLL_CLEAR};

	for (int i = 0; i < 3; i++) {
		struct waiter waiters[4];
		struct xpoll *queue = xt_open();
		struct xt_pair pipe = xt_pipe();
		atomic_int returned = 0;

		XT_OK(xt_add(queue, pipe.r, READ, modes[i]));
		waiters_start(waiters, 4, queue, &returned);
		xt_put(pipe.w);
		xt_until(&returned, 1);
		waiters_send_home(waiters, 4);
		XT_EQ(waiters_got(waiters, 4, (uint64_t)pipe.r), 1);
		XT_NONE(queue);
	}
}

/* S17: with as many events as waiting threads each thread gets one. */
XT_TEST(as_many_events_as_waiters_each_gets_one)
{
	struct waiter waiters[4];
	struct xpoll *queue = xt_open();
	struct xt_pair pipes[4];
	atomic_int returned = 0;

	for (int i = 0; i < 4; i++) {
		pipes[i] = xt_pipe();
		XT_OK(xt_add(queue, pipes[i].r, READ, XPOLL_DISPATCH));
	}
	waiters_start(waiters, 4, queue, &returned);
	for (int i = 0; i < 4; i++)
		xt_put(pipes[i].w);
	/* No wake is sent: each thread must be woken by an event. */
	xt_until(&returned, 4);
	for (int i = 0; i < 4; i++)
		xt_join(waiters[i].thread);
	for (int i = 0; i < 4; i++)
		XT_EQ(waiters_got(waiters, 4, (uint64_t)pipes[i].r), 1);
}

/* The same with all events triggered by one list of changes, while all threads sleep */
XT_TEST(one_change_list_wakes_as_many_waiters_as_it_has_events)
{
	struct waiter waiters[4];
	struct xpoll *queue = xt_open();
	struct xpoll_event changes[4];
	atomic_int returned = 0;

	for (uint64_t i = 0; i < 4; i++) {
		XT_OK(xt_flag(queue, i, USER, XPOLL_ADD | XPOLL_CLEAR));
		(void)xpoll_set(&changes[i], i, USER, 0, XPOLL_NOTE_TRIGGER, 0,
		                NULL);
	}
	waiters_start(waiters, 4, queue, &returned);
	XT_EQ(xpoll_event(queue, changes, 4, NULL, 0, 0), 0);
	xt_until(&returned, 4);
	for (int i = 0; i < 4; i++)
		xt_join(waiters[i].thread);
	for (uint64_t i = 0; i < 4; i++)
		XT_EQ(waiters_got(waiters, 4, i), 1);
}

/*
 * Hazard 3: an edge wakes one thread.  The data stays unread, so the level must wake the others,
 * too.
 */
static void all_waiters_get_level(int toggles)
{
	struct waiter waiters[3];
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	uint64_t ident = (uint64_t)pipe.r;
	atomic_int returned = 0;

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	for (int i = 0; i < toggles; i++) {
		XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
		XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	}
	waiters_start(waiters, 3, queue, &returned);
	xt_put(pipe.w);
	xt_until(&returned, 3);
	for (int i = 0; i < 3; i++)
		xt_join(waiters[i].thread);
	XT_EQ(waiters_got(waiters, 3, ident), 3);
}

XT_TEST(hazard_03_level_holds_every_waiter_is_told)
{
	XT_CALL(all_waiters_get_level(0));
}

XT_TEST(hazard_03_lazy_level_holds_every_waiter_is_told)
{
	XT_CALL(all_waiters_get_level(1));
	XT_CALL(all_waiters_get_level(5));
}

/* Hazard 3: the filter is enabled while the other threads sleep already. */
XT_TEST(hazard_03_enable_beside_sleepers_every_waiter_is_told)
{
	struct waiter waiters[3];
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	uint64_t ident = (uint64_t)pipe.r;
	atomic_int returned = 0;

	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_DISABLE));
	xt_put(pipe.w);
	waiters_start(waiters, 3, queue, &returned);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	xt_until(&returned, 3);
	for (int i = 0; i < 3; i++)
		xt_join(waiters[i].thread);
	XT_EQ(waiters_got(waiters, 3, ident), 3);
}

/*
 * Hazard 4: in each round one thread disables and enables the filter and ends with ENABLE, one
 * writes a byte, and the waiting thread must get the event and reads the byte.
 */
struct rounds {
	struct xpoll *queue;
	struct xt_pair pair;
	int mode;
	int count;
	atomic_int written;
	atomic_int toggled;
	atomic_int got;
};

static void rounds_write(void *argument)
{
	struct rounds *rounds = argument;

	for (int i = 0; i < rounds->count; i++) {
		xt_until(&rounds->got, i);
		xt_put(rounds->pair.w);
		atomic_store(&rounds->written, i + 1);
	}
}

static void rounds_toggle(void *argument)
{
	struct rounds *rounds = argument;
	uint64_t ident = (uint64_t)rounds->pair.r;

	for (int i = 0; i < rounds->count; i++) {
		xt_until(&rounds->got, i);
		for (int j = 0; j < 3; j++) {
			if (!XT_EXPECT_STATUS(xt_flag(rounds->queue, ident,
			                              READ, XPOLL_DISABLE),
			                      0) ||
			    !XT_EXPECT_STATUS(xt_flag(rounds->queue, ident,
			                              READ, XPOLL_ENABLE),
			                      0))
				return;
		}
		atomic_store(&rounds->toggled, i + 1);
	}
}

static void rounds_run(struct xt_pair pair, int mode)
{
	struct rounds rounds = {.queue = xt_open(),
	                        .pair = pair,
	                        .mode = mode,
	                        .count = XT_SLOW ? 200 : 600};
	struct xpoll_event event;
	struct xt_thread *threads[2];

	XT_OK(xt_add(rounds.queue, pair.r, READ, mode));
	threads[0] = xt_start(rounds_write, &rounds);
	threads[1] = xt_start(rounds_toggle, &rounds);
	for (int i = 0; i < rounds.count; i++) {
		while (xt_get(pair.r) != 'x')
			XT_EQ(xpoll_event(rounds.queue, NULL, 0, &event, 1, -1),
			      1);
		xt_until(&rounds.written, i + 1);
		xt_until(&rounds.toggled, i + 1);
		if (mode & XPOLL_DISPATCH)
			XT_OK(xt_flag(rounds.queue, (uint64_t)pair.r, READ,
			              XPOLL_ENABLE));
		atomic_store(&rounds.got, i + 1);
	}
	for (int i = 0; i < 2; i++)
		xt_join(threads[i]);
}

XT_TEST(hazard_04_toggles_against_data_lose_no_level_event)
{
	XT_CALL(rounds_run(xt_pipe(), 0));
	XT_CALL(rounds_run(xt_socketpair(SOCK_STREAM), 0));
}

XT_TEST(hazard_04_toggles_against_data_lose_no_edge)
{
	XT_CALL(rounds_run(xt_pipe(), XPOLL_CLEAR));
	XT_CALL(rounds_run(xt_socketpair(SOCK_DGRAM), XPOLL_CLEAR));
}

XT_TEST(hazard_04_toggles_against_data_lose_no_dispatch)
{
	XT_CALL(rounds_run(xt_pipe(), XPOLL_DISPATCH));
}

static void poll_level_run(void *argument)
{
	struct waiter *self = argument;

	/* No event is left for this thread: xpoll_wake_all ends its wait. */
	self->rc = xpoll_wait(self->queue, -1);
	atomic_fetch_add(self->returned, 1);
}

/*
 * S17: while a thread waits at the poll-like level, another may not wait at the event level, but
 * changes are made, and the event is delivered after the wait.
 */
XT_TEST(user_event_during_a_poll_like_wait_comes_after_it)
{
	struct xpoll *queue = xt_open_quiet();
	struct waiter poller = {.queue = queue};
	struct xpoll_event change, event;
	atomic_int returned = 0;

	XT_OK(xt_flag(queue, 1, USER, XPOLL_ADD | XPOLL_CLEAR));
	poller.returned = &returned;
	for (int i = 0; i < 20; i++) {
		xt_threads_reuse();
		poller.thread = xt_start(poll_level_run, &poller);
		xt_asleep(poller.thread);
		/* The other thread may not be waiting yet: then this wait returns at once. */
		while (xpoll_event(queue, NULL, 0, &event, 1, 0) == 0)
			sched_yield();
		XT_EXPECT_EQ(errno, EBUSY);
		/*
		 * No change is made, unless there is a receipt, which makes the call return at
		 * once.
		 */
		(void)xpoll_set(&change, 1, USER, 0, XPOLL_NOTE_TRIGGER, 0, NULL);
		XT_FAILS(xpoll_event(queue, &change, 1, &event, 1, -1), EBUSY);
		change.flags = XPOLL_ADD | XPOLL_CLEAR | XPOLL_RECEIPT;
		if (i % 2)
			XT_EQ(xpoll_event(queue, &change, 1, &event, 1, -1), 1);
		else
			XT_OK(xt_trigger(queue, 1));
		XT_EQ(atomic_load(&returned), i);
		waiters_send_home(&poller, 1);
		XT_GETS(queue, &event, 1, USER);
		XT_NONE(queue);
	}
}

/*
 * After two threads have slept, the kernel must not be called again and again for a descriptor
 * whose hang-up is not delivered.
 */
XT_TEST(hang_up_that_is_not_told_does_not_keep_a_wait_busy)
{
	for (int i = xt_has_except() ? 0 : 1; i < 2; i++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair pair = xt_socketpair(SOCK_STREAM);
		int fd = i ? xt_socket(AF_INET, SOCK_STREAM) : pair.r;
		struct waiter waiters[2];
		atomic_int returned = 0;
		struct xpoll_event event;
		uint64_t before;

		xt_threads_reuse();
		waiters_start(waiters, 2, queue, &returned);
		waiters_send_home(waiters, 2);
		xt_close(pair.w);
		XT_OK(xt_add(queue, fd, i ? WRITE : EXCEPT, XPOLL_DISPATCH));
		before = xt_stats(queue).syscalls_wait;
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 20000000), 0);
		XT_CHECK(xt_stats(queue).syscalls_wait - before < 10);
		xt_destroy(queue);
	}
}
