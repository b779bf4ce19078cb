/*
 * Goal: xpoll_destroy wakes all threads that wait; they return -1/EBADF, and
 * xpoll_destroy returns when they have left (section 1 of xpoll.h).
 * Method: destroy a queue under blocked threads of every kind, many times, also
 * while they are still on their way in or out.
 */
#include "xt.h"

#include <sched.h>

enum { KINDS = 3 }; /* kinds of waits at each level */

struct waiter {
	struct xpoll *queue;
	struct xt_thread *thread;
	int kind;
	int rc;
	int error;
};

static void waiter_run(void *argument)
{
	struct waiter *self = argument;
	struct xpoll_event events[4];
	struct xpoll_ready ready[4];
	sigset_t empty;

	(void)sigemptyset(&empty);
	if (self->kind == 0)
		self->rc = xpoll_event(self->queue, NULL, 0, events, 4, -1);
	else if (self->kind == 1)
		self->rc = xpoll_event(self->queue, NULL, 0, events, 4, XT_SOON);
	else if (self->kind == 2)
		self->rc = xpoll_event_mask(self->queue, NULL, 0, events, 4, -1, &empty);
	else if (self->kind == KINDS)
		self->rc = xpoll_wait(self->queue, -1);
	else if (self->kind == KINDS + 1)
		self->rc = xpoll_pwait(self->queue, ready, 4, XT_SOON, NULL);
	else
		self->rc = xpoll_pwait(self->queue, ready, 4, -1, &empty);
	self->error = errno;
}

/* A call that begins after xpoll_destroy is undefined, so wait until this many waits have begun. */
static void all_in(struct xpoll *queue, uint64_t waits)
{
	while (xt_stats(queue).waits < waits)
		(void)sched_yield();
}

/*
 * Destroy a queue while threads wait in it, each in another way; first: 0 for the event level,
 * KINDS for the poll-like level.
 */
static void destroy_under(struct xpoll *queue, int first, int count)
{
	struct waiter waiters[KINDS];

	for (int i = 0; i < count; i++) {
		waiters[i] = (struct waiter){.queue = queue, .kind = first + i};
		waiters[i].thread = xt_start(waiter_run, &waiters[i]);
	}
	all_in(queue, (uint64_t)count);
	for (int i = 0; i < count; i++)
		xt_asleep(waiters[i].thread);
	xt_destroy(queue);
	for (int i = 0; i < count; i++) {
		xt_join(waiters[i].thread);
		XT_EQ(waiters[i].rc, -1);
		XT_EXPECT_STATUS(waiters[i].error, EBADF);
	}
	xt_threads_reuse();
}

XT_TEST(destroy_ends_a_blocked_wait_with_ebadf)
{
	for (int i = 0; i < 20; i++)
		XT_CALL(destroy_under(xt_open(), i % 2 ? KINDS : 0, 1));
}

XT_TEST(destroy_ends_blocked_waits_of_every_kind_with_ebadf)
{
	for (int i = 0; i < 20; i++)
		XT_CALL(destroy_under(xt_open(), i % 2 ? KINDS : 0, KINDS));
}

XT_TEST(destroy_with_registrations_under_waiters)
{
	for (int i = 0; i < 10; i++) {
		struct xpoll *queue = xt_open();
		struct xt_pair pair = xt_socketpair(SOCK_STREAM);
		struct xpoll_event now;

		XT_OK(xt_add(queue, pair.r, READ, XPOLL_CLEAR));
		XT_OK(xt_add(queue, pair.r, WRITE, XPOLL_DISABLE));
		XT_OK(xt_flag(queue, 1, USER, XPOLL_ADD));
		XT_EQ(xpoll_lookup(queue, 1, USER, &now), 0);
		XT_CALL(destroy_under(queue, i % 2 ? KINDS : 0, KINDS));
		xt_put(pair.w);
		XT_EQ(xt_get(pair.r), 'x');
	}
}

/*
 * An event and xpoll_destroy wake the thread at the same moment: the wait returns the event or
 * EBADF, nothing else.
 */
XT_TEST(destroy_against_an_event_gives_one_or_the_other)
{
	for (int i = 0; i < 100; i++) {
		struct xpoll *queue = xt_open();
		struct xt_pair pipe = xt_pipe();
			struct waiter waiter = {.queue = queue};

		XT_OK(xt_add(queue, pipe.r, READ, 0));
		waiter.thread = xt_start(waiter_run, &waiter);
		all_in(queue, 1);
		xt_put(pipe.w);
		xt_destroy(queue);
		xt_join(waiter.thread);
		XT_CHECK(waiter.rc == 1 || waiter.rc == -1);
		if (waiter.rc < 0)
			XT_EXPECT_STATUS(waiter.error, EBADF);
		xt_shut(pipe);
		xt_threads_reuse();
	}
}

XT_TEST(destroy_with_pending_wake_and_events_is_clean)
{
	for (int i = 0; i < 20; i++) {
		struct xpoll *queue = xt_open();
		struct xt_pair pipe = xt_pipe();

		XT_OK(xt_add(queue, pipe.r, READ, XPOLL_CLEAR));
		XT_OK(xt_flag(queue, 1, USER, XPOLL_ADD));
		XT_OK(xt_trigger(queue, 1));
		xt_put(pipe.w);
		XT_EQ(xpoll_wake(queue), 0);
		xt_destroy(queue);
	}
}

/*
 * A queue that is created right afterwards gets the same descriptors, but none of the old
 * registrations.
 */
XT_TEST(destroy_and_open_again_starts_empty)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event now;

	xt_put(pipe.w);
	for (int i = 0; i < 50; i++) {
		struct xpoll *queue = xt_open_quiet();

		XT_FAILS(xpoll_lookup(queue, (uint64_t)pipe.r, READ, &now),
		         ENOENT);
		XT_NONE(queue);
		XT_OK(xt_add(queue, pipe.r, READ, 0));
		XT_GETS(queue, NULL, pipe.r, READ);
		xt_destroy(queue);
	}
}
