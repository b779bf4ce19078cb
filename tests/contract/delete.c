/*
 * Goal: DELETE takes effect before the call returns (S6): no later wait, in any
 * thread, delivers that registration.
 * Method: delete ready registrations at every stage of their delivery; and
 * threads that delete and wait at the same time, with a serial number that
 * shows to which registration an event belongs.
 */
#include "xt.h"

#include <sched.h>

XT_TEST(delete_ready_one_is_not_delivered)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_ONESHOT,
	                            XPOLL_DISPATCH};
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 4; i++) {
		struct xt_pair pipe = xt_pipe();

		XT_OK(xt_add(queue, pipe.r, READ, modes[i]));
		xt_put(pipe.w);
		XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_DELETE));
		XT_NONE(queue);
	}
}

XT_TEST(delete_delivered_one_is_not_delivered_again)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	xt_put(pipe.w);
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_DELETE));
	XT_NONE(queue);
}

XT_TEST(delete_after_toggles_is_not_delivered)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	uint64_t ident = (uint64_t)pipe.r;

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	xt_put(pipe.w);
	for (int i = 0; i < 3; i++) {
		XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
		XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
		XT_GETS(queue, NULL, ident, READ);
	}
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DELETE));
	XT_NONE(queue);
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_GETS(queue, NULL, ident, READ);
}

XT_TEST(delete_carried_over_one_is_not_delivered)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipes[3];
	struct xpoll_event event;

	for (int i = 0; i < 3; i++) {
		pipes[i] = xt_pipe();
		XT_OK(xt_add(queue, pipes[i].r, READ, XPOLL_CLEAR));
		xt_put(pipes[i].w);
	}
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	for (int i = 0; i < 3; i++)
		XT_OK(xt_flag(queue, (uint64_t)pipes[i].r, READ, XPOLL_DELETE));
	XT_NONE(queue);
}

/* Complaint: A deferred delete meets the next file of that number. */
XT_TEST(delete_in_the_call_that_waits_comes_first)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair one = xt_pipe();
	struct xt_pair two = xt_pipe();
	struct xpoll_event change =
	    xt_record((uint64_t)one.r, READ, XPOLL_DELETE);
	struct xpoll_event events[4];

	XT_OK(xt_add(queue, one.r, READ, 0));
	XT_OK(xt_add(queue, two.r, READ, 0));
	xt_put(one.w);
	xt_put(two.w);
	XT_EQ(xpoll_event(queue, &change, 1, events, 4, -1), 1);
	XT_EXPECT_EQ(events[0].ident, two.r);
}

/*
 * At the poll-like level: DELETE comes between xpoll_wait and xpoll_revents.
 * Complaint: A handler deletes another registration, whose event is in the array already.
 */
XT_TEST(delete_before_revents_is_left_out)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipes[3];

	for (int i = 0; i < 3; i++) {
		pipes[i] = xt_pipe();
		xt_put(pipes[i].w);
		XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, pipes[i].r,
		                &pipes[i]),
		      0);
	}
	XT_EQ(xpoll_wait(queue, -1), 3);
	XT_EQ(xpoll_ctl(queue, XPOLL_DELETE, POLLIN, pipes[0].r, NULL), 0);
	XT_EQ(xpoll_ctl(queue, XPOLL_DISABLE, POLLIN, pipes[2].r, NULL), 0);
	void *data = NULL;
	XT_EQ(xpoll_revents(queue, &data), POLLIN);
	XT_EXPECT(data == &pipes[1]);
	XT_EQ(xpoll_revents(queue, &data), 0);
}

struct blocked {
	struct xpoll *queue;
	struct xpoll_event event;
	int rc;
};

static void blocked_wait(void *argument)
{
	struct blocked *blocked = argument;

	blocked->rc =
	    xpoll_event(blocked->queue, NULL, 0, &blocked->event, 1, -1);
}

/* A wait that is blocked during the DELETE never returns the registration. */
XT_TEST(delete_while_a_thread_waits_is_not_delivered)
{
	struct xt_pair gone = xt_pipe();
	struct xt_pair stays = xt_pipe();
	struct blocked blocked = {.queue = xt_open()};

	XT_OK(xt_add(blocked.queue, gone.r, READ, 0));
	XT_OK(xt_add(blocked.queue, stays.r, READ, 0));
	struct xt_thread *thread = xt_start(blocked_wait, &blocked);
	xt_asleep(thread);
	XT_OK(xt_flag(blocked.queue, (uint64_t)gone.r, READ, XPOLL_DELETE));
	xt_put(gone.w);
	xt_put(stays.w);
	xt_join(thread);
	XT_EQ(blocked.rc, 1);
	XT_EXPECT_EQ(blocked.event.ident, stays.r);
}

enum { RACES = XT_SLOW ? 200 : 600 };

/*
 * One thread registers and deletes an always ready pipe again and again, each time with a new
 * serial number as udata; two threads wait.  A wait that began after serial number n was deleted
 * must not return n.
 */
struct race {
	struct xpoll *queue;
	struct xt_pair pipe;
	_Atomic uint64_t deleted; /* registrations up to this serial number were deleted */
	atomic_int stop;
	atomic_int got;
};

static void race_wait(void *argument)
{
	struct race *race = argument;

	while (!atomic_load(&race->stop)) {
		uint64_t deleted = atomic_load(&race->deleted);
		struct xpoll_event event;
		int rc = xpoll_event(race->queue, NULL, 0, &event, 1, 0);

		if (rc < 1) {
			/* Let the changing thread run. */
			(void)sched_yield();
			continue;
		}
		atomic_fetch_add(&race->got, 1);
		if (!XT_EXPECT((uintptr_t)event.udata > deleted))
			return;
	}
}

static void race_change(struct race *race, int mode, uint64_t number)
{
	uint64_t ident = (uint64_t)race->pipe.r;
	int rc = xt_change(race->queue, ident, READ, XPOLL_ADD | mode, 0, 0,
	                   (void *)(uintptr_t)number);

	(void)XT_EXPECT_STATUS(rc, 0);
	if (number % 5 == 0)
		(void)sched_yield();
	rc = xt_flag(race->queue, ident, READ, XPOLL_DELETE);
	(void)XT_EXPECT(rc == 0 || (mode == XPOLL_ONESHOT && rc == ENOENT));
	atomic_store(&race->deleted, number);
}

static void race_run(int mode)
{
	struct race race = {.queue = xt_open(), .pipe = xt_pipe()};
	struct xt_thread *threads[2];

	xt_put(race.pipe.w);
	for (int i = 0; i < 2; i++)
		threads[i] = xt_start(race_wait, &race);
	for (uint64_t number = 1; number <= RACES && !xt_failures(); number++)
		race_change(&race, mode, number);
	atomic_store(&race.stop, 1);
	for (int i = 0; i < 2; i++)
		xt_join(threads[i]);
	XT_NONE(race.queue);
}

XT_TEST(delete_against_waiting_threads_level_is_exact)
{
	race_run(0);
}

XT_TEST(delete_against_waiting_threads_clear_is_exact)
{
	race_run(XPOLL_CLEAR);
}

XT_TEST(delete_against_waiting_threads_oneshot_is_exact)
{
	race_run(XPOLL_ONESHOT);
}

/*
 * Complaint: A handler deletes another registration, whose event is in the
 * array already.
 */
XT_TEST(delete_against_waiting_threads_dispatch_is_exact)
{
	race_run(XPOLL_DISPATCH);
}

/*
 * After DELETE of POLLIN, READ is registered for POLLRDHUP only; the event level reports it, too.
 */
XT_TEST(delete_of_pollin_beside_pollrdhup_leaves_the_end_alone)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_DISPATCH};

	XT_NEEDS_RDHUP();
	if (xt_wine())
		XT_SKIP(XT_WINE_PEEKS);
	for (int i = 0; i < 3; i++) {
		struct xpoll *queue = xt_open();
		struct xt_pair pair = xt_socketpair(SOCK_STREAM);
		struct xpoll_event event;

		XT_EQ(xpoll_ctl(queue, XPOLL_ADD | modes[i], POLLIN | POLLRDHUP,
		                pair.r, NULL), 0);
		XT_EQ(xpoll_ctl(queue, XPOLL_DELETE, POLLIN, pair.r, NULL), 0);
		xt_put(pair.w);
		XT_NONE(queue);
		XT_EQ(shutdown(pair.w, SHUT_WR), 0);
		XT_GETS(queue, &event, pair.r, READ);
		XT_EXPECT_EQ(event.flags, XPOLL_EOF);
		xt_destroy(queue);
	}
}

/* A bit that was not requested is not registered, though another bit of its filter is. */
XT_TEST(delete_of_a_bit_beside_another_of_its_filter_fails)
{
	static const int bits[] = {POLLIN, POLLRDHUP, 0};
	/* On Windows the pair is a TCP connection, whose end is not reported as a hang-up. */
	int count = XT_RESET == POLLHUP ? 3 : 2;

	XT_NEEDS_RDHUP();
	for (int i = 0; i < count; i++) {
		struct xpoll *queue = xt_open();
		struct xt_pair pair = xt_socketpair(SOCK_STREAM);

		XT_EQ(xpoll_ctl(queue, XPOLL_ADD, bits[i], pair.r, NULL), 0);
		XT_FAILS(xpoll_ctl(queue, XPOLL_DELETE, bits[!i], pair.r, NULL), ENOENT);
		XT_FAILS(xpoll_ctl(queue, XPOLL_DELETE, bits[!i] | POLLOUT, pair.r, NULL), ENOENT);
		XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLOUT, pair.r, NULL), 0);
		XT_EQ(xpoll_ctl(queue, XPOLL_DELETE, bits[!i] | POLLOUT, pair.r, NULL), 0);
		XT_EQ(shutdown(pair.w, SHUT_RDWR), 0);
		XT_EQ(xpoll_wait(queue, -1), 1);
		XT_EQ(xpoll_ctl(queue, XPOLL_DELETE, bits[i], pair.r, NULL), 0);
		XT_EQ(xpoll_wait(queue, 0), 0);
		xt_destroy(queue);
	}
}
